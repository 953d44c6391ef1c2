extension ControlStatus {
    /// How the watch compares with the firmware in its shadow.
    package struct Comparison: ControlObject {
        package var compared = 0
        package var same = 0
        package var different = 0
        package var withheld = 0
        package var lost = 0
        package var waiting = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("compared", &compared, .count, "messages that both were asked")
            try fields.required("same", &same, .count, "of those, how many they answered alike")
            try fields.required("different", &different, .count, "and how many not")
            try fields.required("withheld", &withheld, .count, "messages that the firmware is not asked")
            try fields.required("lost", &lost, .count, "messages that the firmware could not be asked")
            try fields.required("waiting", &waiting, .count, "messages of which it is not decided yet")
        }
    }
}
