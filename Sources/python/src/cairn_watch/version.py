"""The version of this package, which is that of the watch that it is made for."""

VERSION = "0.1.0"
