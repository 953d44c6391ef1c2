// Embedded Swift has no reflection: nothing there can look into a value.
#if hasFeature(Embedded)
    /// A value whose parts no reflection shows.
    public protocol Unreflected {}
#else
    /// A value whose parts no reflection shows.
    public protocol Unreflected: CustomReflectable {}

    extension Unreflected {
        public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
    }

    extension SecurityManager: CustomReflectable {
        public var customMirror: Mirror {
            Mirror(self, children: ["links": links.count, "bonds": bondList.count], displayStyle: .struct)
        }
    }
#endif
