/// Why a request is refused, and at which attribute.
struct ATTRefusal: Error {
    let error: ATTError
    let handle: AttributeHandle

    init(_ error: ATTError, at handle: AttributeHandle = .none) {
        self.error = error
        self.handle = handle
    }

    /// The Error Response that refuses a request with an opcode.
    func response(to opcode: UInt8) -> ATTErrorResponse {
        ATTErrorResponse(requestOpcode: opcode, handle: handle, error: error)
    }
}
