import AirSimulator
import SeededRandomness
import Testing

/// One radio for several purposes: several connections, connections and advertising, and time that is skipped.
@Suite struct SharedRadioTests {
    /// A phone at address 63 (hexadecimal) with connections to watches 1...count, and the watches.
    private func star(_ rig: inout Rig, intervals: [UInt16]) throws -> (phone: ControllerID, watches: [ControllerID]) {
        let phone = rig.add(address: 0x63)
        var watches: [ControllerID] = []
        for (index, interval) in intervals.enumerated() {
            let watch = rig.add(address: UInt8(index + 1))
            AdvertisingTests.startLegacy(&rig, watch, slots: 32)
            let interval = little(interval)
            rig.send(
                "01 0d 20 19 30 00 30 00 00 00 0\(index + 1) 00 00 c0 c0 c0 00 \(interval) \(interval) 00 00 c8 00 00 00 00 00",
                phone
            )
            _ = try rig.wait(for: "04 3e 1f 0a 00", from: phone)
            _ = rig.take(phone)
            _ = rig.take(watch)
            watches.append(watch)
        }
        return (phone, watches)
    }

    @Test(arguments: [[24, 24], [6, 9], [12, 16, 20], [8, 8, 8, 8]] as [[UInt16]])
    func busyConnectionsShareTheRadioAndLive(intervals: [UInt16]) throws {
        var rig = Rig()
        let (phone, watches) = try star(&rig, intervals: intervals)
        var received = [Int](repeating: 0, count: watches.count)
        var buffer: [UInt8] = []
        func packet(_ index: Int) -> [UInt8] { [2, UInt8(0x40 + index), 0, 27, 0] + [UInt8](repeating: 7, count: 27) }
        // Two packets of each connection are always with the phone's controller.
        for index in watches.indices { for _ in 0..<2 { rig.send(packet(index), phone) } }
        _ = rig.take(phone)
        let end = rig.now + .seconds(20)
        while let next = rig.air.nextDeadline, next <= end {
            rig.air.advance(to: next)
            while rig.air.nextPacket(from: phone, into: &buffer) {
                try #require(buffer[1] == 0x13, "\(hex(buffer))")
                rig.air.receive(packet(Int(buffer[4]) - 0x40)[...], from: phone, at: next)
            }
            for (index, watch) in watches.enumerated() {
                while rig.air.nextPacket(from: watch, into: &buffer) { received[index] += buffer[0] == 2 ? 27 : 0 }
            }
        }
        for (count, interval) in zip(received, intervals) {
            // At least a third of a packet in each of its intervals, at any load of the others.
            #expect(Double(count) > 20 / (Double(interval) * 0.00125) * 27 / 3, "\(received) of \(intervals)")
        }
    }

    @Test func aBusyConnectionMakesWayForTheNextOnesEvent() throws {
        var rig = Rig()
        let (phone, watches) = try star(&rig, intervals: [80, 80])
        let busy: [UInt8] = [2, 0x40, 0, 27, 0] + [UInt8](repeating: 7, count: 27)
        for _ in 0..<7 { rig.send(busy, phone) }
        rig.send("02 41 00 01 00 55", phone)
        var buffer: [UInt8] = []
        var arrivals: [Duration] = []
        let end = rig.now + .seconds(20)
        while let next = rig.air.nextDeadline, next <= end {
            rig.air.advance(to: next)
            while rig.air.nextPacket(from: phone, into: &buffer) {
                guard buffer.starts(with: [4, 0x13]) else { continue }
                // The first connection is busy all the time; the second one has a packet for each event.
                let again = buffer[4] == 0x40 ? busy : [2, 0x41, 0, 1, 0, 0x55]
                rig.air.receive(again[...], from: phone, at: next)
            }
            while rig.air.nextPacket(from: watches[0], into: &buffer) {}
            while rig.air.nextPacket(from: watches[1], into: &buffer) { if buffer[0] == 2 { arrivals.append(next) } }
        }
        // Every 100 ms to the microsecond: no event was lost to the other connection.
        let gaps = Set(zip(arrivals.dropFirst(), arrivals).map { $0 - $1 })
        #expect(gaps == [.milliseconds(100)])
        #expect(arrivals.count >= 198)
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func aPeripheralOfTwoCentralsLosesNeither(seed: UInt64) throws {
        // The centrals know nothing of each other: their events may be at the same time for ever.
        var rig = Rig(seed: seed)
        let watch = rig.add(address: 1)
        let phones = [rig.add(address: 2), rig.add(address: 3)]
        for phone in phones {
            AdvertisingTests.startLegacy(&rig, watch, slots: 32)
            rig.send("01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 06 00 06 00 00 00 0a 00 00 00 00 00", phone)
            _ = try rig.wait(for: "04 3e 1f 0a 00", from: phone)
        }
        var sent = [0, 0]
        var got: [UInt8: Int] = [:]
        for phone in phones { _ = rig.take(phone) }
        _ = rig.take(watch)
        for _ in 0..<400 {
            for (index, handle) in ["50", "60"].enumerated() {
                rig.send("02 \(handle) 00 14 00 \(hex([UInt8](repeating: UInt8(index), count: 20)))", phones[index])
                sent[index] += 1
            }
            rig.run(for: .milliseconds(30))
            for said in rig.take(watch, "02") { got[said.bytes[5], default: 0] += 1 }
            for phone in phones { #expect(rig.take(phone, "04 05").isEmpty, "seed \(seed)") }
        }
        rig.run(for: .seconds(1))
        for said in rig.take(watch, "02") { got[said.bytes[5], default: 0] += 1 }
        #expect(got == [0: sent[0], 1: sent[1]], "seed \(seed)")
    }

    /// Wherever in the interval the second central's events are, also if they begin together with the first one's.
    @Test func twoCentralsEventsMayBeginTogether() throws {
        let packets: [[UInt8]] = [0x50, 0x60].map { [2, $0, 0, 4, 0, 0, 0, 0, 0] }
        for offset in stride(from: 0, to: 7500, by: 50) {
            var rig = Rig()
            let watch = rig.add(address: 1)
            let phones = [rig.add(address: 2), rig.add(address: 3)]
            for (index, phone) in phones.enumerated() {
                rig.run(for: .microseconds(index * offset))
                rig.send(
                    "01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 06 00 06 00 00 00 0a 00 00 00 00 00",
                    phone
                )
                AdvertisingTests.startLegacy(&rig, watch, slots: 32)
                _ = try rig.wait(for: "04 3e 1f 0a 00", from: phone)
            }
            // Two packets of each phone are always with its controller.
            var buffer: [UInt8] = []
            var got: [UInt8: Int] = [:]
            for (index, phone) in phones.enumerated() { for _ in 0..<2 { rig.send(packets[index], phone) } }
            let end = rig.now + .seconds(1)
            while let next = rig.air.nextDeadline, next <= end {
                rig.air.advance(to: next)
                for (index, phone) in phones.enumerated() {
                    while rig.air.nextPacket(from: phone, into: &buffer) {
                        #expect(!buffer.starts(with: [4, 5]), "\(offset) µs later: a link ended")
                        guard buffer.starts(with: [4, 0x13]) else { continue }
                        rig.air.receive(packets[index][...], from: phone, at: next)
                    }
                }
                while rig.air.nextPacket(from: watch, into: &buffer) {
                    if buffer[0] == 2 { got[buffer[1], default: 0] += 1 }
                }
            }
            // An event each 7.5 ms that has to be one link's at times, and then the other's.
            #expect(got.count == 2 && got.values.allSatisfy { $0 >= 53 }, "\(offset) µs later: \(got)")
        }
    }

    @Test func aConnectedControllerAdvertisesAndScans() throws {
        var link = try #require(ConnectedRig(interval: 24))
        let other = link.rig.add(address: 9)
        // The peripheral advertises on, the central scans and hears it and a third one, which hears both of them.
        AdvertisingTests.startLegacy(&link.rig, link.peripheral, slots: 160, type: "03")
        AdvertisingTests.startLegacy(&link.rig, other, slots: 160, type: "03")
        AdvertisingTests.startScan(&link.rig, link.central)
        AdvertisingTests.startScan(&link.rig, other)
        link.rig.run(for: .seconds(20))
        let heard = link.rig.take(link.central, "04 3e").map { $0.bytes[7] }
        #expect(heard.filter { $0 == 1 }.count > 150)
        #expect(heard.filter { $0 == 9 }.count > 150)
        #expect(link.rig.take(other, "04 3e").allSatisfy { $0.bytes[7] == 1 })
        #expect(link.rig.take(link.peripheral).isEmpty)
    }

    /// The same traffic, if idle events are skipped, if they are not because a packet might get lost,
    /// though at this probability none ever will, and if they are not because packets are recorded.
    @Test(arguments: [0, 3] as [UInt16], 1...5 as ClosedRange<UInt64>)
    func skippedTimeIsAsIfItHadPassed(latency: UInt16, seed: UInt64) throws {
        var lives: [[Rig.Said]] = []
        var usages: [[RadioUsage]] = []
        for (loss, isRecorded) in [(LossModel.none, false), (.uniform(probability: 1e-300), false), (.none, true)] {
            var random = SplitMix64(seed: seed)
            var link = try #require(
                ConnectedRig(seed: seed, quality: LinkQuality(loss: loss), interval: 24, latency: latency, timeout: 400)
            )
            link.rig.air.recordPackets(isRecorded)
            var life: [Rig.Said] = []
            for _ in 0..<60 {
                let id = Bool.random(using: &random) ? link.central : link.peripheral
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    let interval = little(UInt16.random(in: 6...40, using: &random))
                    link.rig.send(
                        "01 13 20 0e \(link.centralHandle) \(interval) \(interval) \(little(latency)) 90 01 00 00 00 00",
                        link.central
                    )
                case 1: link.rig.send("01 1d 04 02 \(link.centralHandle)", link.central)
                case 2: link.rig.send("01 32 20 07 \(link.centralHandle) 00 03 03 00 00", link.central)
                default:
                    let length = Int.random(in: 1...100, using: &random)
                    link.sendData([UInt8](repeating: UInt8(length), count: length), from: id)
                }
                link.rig.run(for: .microseconds(Int64.random(in: 0...3_000_000, using: &random)))
                life += link.rig.take(link.central) + link.rig.take(link.peripheral)
            }
            lives.append(life)
            usages.append([link.rig.air.radioUsage(of: link.central), link.rig.air.radioUsage(of: link.peripheral)])
        }
        #expect(lives[0].count > 60)
        for other in 1...2 {
            let difference = zip(lives[0], lives[other]).first { $0 != $1 }
            #expect(difference == nil, "seed \(seed)")
            #expect(lives[0].count == lives[other].count, "seed \(seed)")
            #expect(usages[0] == usages[other], "seed \(seed)")
        }
    }

    @Test func anIdleConnectionUsesTheRadioForItsPacketsOnly() throws {
        var link = try #require(ConnectedRig(interval: 800, timeout: 400))
        let before = (link.rig.air.radioUsage(of: link.central), link.rig.air.radioUsage(of: link.peripheral))
        link.rig.run(for: .seconds(1000))
        let after = (link.rig.air.radioUsage(of: link.central), link.rig.air.radioUsage(of: link.peripheral))
        // A thousand events, each with an empty packet of 80 µs both ways.
        #expect((after.0 - before.0).connections.transmitting == .milliseconds(80))
        #expect((after.0 - before.0).connections.receiving == .milliseconds(80))
        #expect((after.1 - before.1).connections.transmitting == .milliseconds(80))
        #expect((after.1 - before.1).connections.receiving == .milliseconds(80))
    }
}
