"""The pieces that interoperability tests are made of. See Tests/README.md."""
