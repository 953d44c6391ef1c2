import PebbleProtocol

// What a boot loader does: new firmware that was installed is what runs from now on.

extension ServiceMemory {
    /// The result of looking for new firmware.
    struct Boot: Sendable {
        /// What the store has to hear of it.
        var changes: [ServiceChange] = []
        /// Why an image that was installed does not run.
        var refusals: [String] = []
    }

    /// Starts what was installed. Firmware runs only together with its resources; an image that does not end with the
    /// metadata of firmware for this board is thrown away, and what ran before runs on.
    mutating func boot(on hardware: HardwarePlatform) -> Boot {
        var boot = Boot()
        if update[.recoveryFirmware]?.progress == .installed {
            if let metadata = take(.recoveryFirmware, for: hardware, in: &boot) {
                recoveryFirmware = metadata
                boot.changes.append(.recoveryFirmware(metadata))
            }
        }
        if update[.firmware]?.progress == .installed, update[.systemResources]?.progress == .installed {
            if let metadata = take(.firmware, for: hardware, in: &boot) {
                firmware = metadata
                boot.changes.append(.firmware(metadata))
            }
            update[.systemResources] = nil
            boot.changes.append(.updateDiscarded(.systemResources))
        }
        return boot
    }

    private mutating func take(
        _ part: FirmwarePart,
        for hardware: HardwarePlatform,
        in boot: inout Boot
    ) -> FirmwareMetadata? {
        guard let image = update.removeValue(forKey: part) else { return nil }
        boot.changes.append(.updateDiscarded(part))
        guard let metadata = FirmwareImage.metadata(of: image.bytes) else {
            boot.refusals.append("the image does not end with a firmware's metadata")
            return nil
        }
        guard metadata.hardwarePlatform == hardware else {
            boot.refusals.append(
                "the image is for hardware \(metadata.hardwarePlatform.rawValue), not \(hardware.rawValue)"
            )
            return nil
        }
        guard WatchIdentity.FirmwareVersion(metadata.versionTag) != nil else {
            boot.refusals.append("the image's version is not one that companions understand: \(metadata.versionTag)")
            return nil
        }
        return metadata
    }
}

extension WatchIdentity {
    /// Says what runs after updates.
    mutating func take(firmwareOf memory: ServiceMemory) {
        if let metadata = memory.firmware, let version = FirmwareVersion(metadata.versionTag) {
            firmware = version
            firmwareTimestamp = metadata.timestamp
            firmwareRevision = metadata.shortGitHash
        }
        if let metadata = memory.recoveryFirmware, let version = FirmwareVersion(metadata.versionTag) {
            recoveryFirmware = version
        }
    }
}

extension WatchIdentity.FirmwareVersion: LosslessStringConvertible, Comparable {
    /// Reads `v4.9.100` or `v4.9.100-suffix`; nil if it is anything else.
    public init?(_ description: String) {
        guard description.first == "v" else { return nil }
        let halves = description.dropFirst().split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let numbers = (halves.first ?? "").split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard (2...3).contains(numbers.count), let major = numbers[0], let minor = numbers[1] else { return nil }
        guard let patch = numbers.count == 3 ? numbers[2] : 0 else { return nil }
        self.init(major: major, minor: minor, patch: patch, suffix: halves.count == 2 ? String(halves[1]) : nil)
    }

    /// By the numbers alone.
    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    /// Whether phones find a battery service: only since the firmware of 2025.
    var hasBatteryService: Bool { self >= Self(major: 4, minor: 9, patch: 0) }
}
