/// Every benchmark and comparison there is.
enum Catalogue {
    static var benchmarks: [Benchmark] {
        [
            Benchmark(
                name: "att-read",
                operation: "Read Request of an 8-byte value in, Read Response out, buffer back",
                timeTarget: .nanoseconds(1000),
                allocationTarget: 0,
                make: { try ReadWorkload(attributeCount: 40) }
            ),
            Benchmark(
                name: "att-write-command",
                operation: "Write Command of 244 bytes in, event out",
                payloadByteCount: ServerHost.longValueLength,
                timeTarget: .nanosecondsPerByte(2),
                allocationTarget: 0,
                make: { try WriteCommandWorkload() }
            ),
            Benchmark(
                name: "att-notification",
                operation: "notification of 244 bytes out, buffer back",
                payloadByteCount: ServerHost.longValueLength,
                timeTarget: .nanosecondsPerByte(2),
                allocationTarget: 0,
                make: { try NotificationWorkload() }
            ),
            Benchmark(
                name: "channel-receive",
                operation: "K-frame of 245 bytes in, read, credits out now and then",
                payloadByteCount: ChannelHost.byteCount,
                timeTarget: .nanosecondsPerByte(2),
                allocationTarget: 0,
                make: { try ChannelReceiveWorkload() }
            ),
            Benchmark(
                name: "host-turn",
                operation: "a turn of a loop in which a K-frame of 245 bytes comes and is read",
                payloadByteCount: ChannelHost.byteCount,
                timeTarget: .nanosecondsPerByte(2),
                allocationTarget: 0,
                make: { try HostTurnWorkload() }
            ),
            Benchmark(
                name: "channel-send",
                operation: "245 bytes written, K-frame out, buffer back",
                payloadByteCount: ChannelHost.byteCount,
                timeTarget: .nanosecondsPerByte(2),
                allocationTarget: 0,
                make: { try ChannelSendWorkload() }
            ),
            Benchmark(
                name: "vendor-event",
                operation: "event of the controller's manufacturer in, to a watch with a phone",
                timeTarget: .nanoseconds(1000),
                allocationTarget: 0,
                make: { try VendorEventWorkload() }
            ),
            Benchmark(
                name: "host-deadline",
                operation: "asking a host with 8 connections that wait for answers when it is due",
                timeTarget: .nanoseconds(50),
                allocationTarget: 0,
                make: { try DeadlineWorkload() }
            ),
            Benchmark(
                name: "watch-deadline",
                operation: "asking a watch with a phone when it is due",
                timeTarget: .nanoseconds(100),
                allocationTarget: 0,
                make: { try WatchDeadlineWorkload() }
            ),
            Benchmark(
                name: "watch-advance",
                operation: "a moment passes for a watch with a phone, and nothing is due",
                timeTarget: .nanoseconds(100),
                allocationTarget: 0,
                make: { try WatchAdvanceWorkload() }
            ),
            Benchmark(
                name: "host-notice",
                operation: "packet of an unknown connection in, notice for the log out, words not made",
                timeTarget: .nanoseconds(1000),
                allocationTarget: 0,
                make: { try NoticeWorkload() }
            ),
            Benchmark(
                name: "echo-watch",
                operation:
                    "AppMessage to the watch and back through the watch's whole stack, with all acknowledgements",
                allocationTarget: 30,
                make: { try EchoWorkload() }
            ),
            Benchmark(
                name: "echo-simulated",
                operation: "the same with the phone, both controllers and the air between them",
                make: { try SimulatedEchoWorkload(.reversed) }
            ),
            Benchmark(
                name: "upload-simulated",
                operation: "64 KiB by PutBytes over PPoGATT, with the phone, both controllers and the air",
                payloadByteCount: UploadWorkload.byteCount,
                make: { try UploadWorkload(.reversed) }
            ),
            Benchmark(
                name: "upload-simulated-stream",
                operation: "the same over the stream's L2CAP channel",
                payloadByteCount: UploadWorkload.byteCount,
                make: { try UploadWorkload(.stream) }
            ),
            Benchmark(
                name: "simulated-hour",
                operation: "an hour of a connected watch and phone that have nothing to say",
                timeTarget: .nanoseconds(60e6),
                make: { try SimulatedHourWorkload() }
            ),
            Benchmark(
                name: "appmessage-encode",
                operation: "push of 4 tuples written into a stream",
                make: { try AppMessageEncodeWorkload(try SampleDictionary.small()) }
            ),
            Benchmark(
                name: "appmessage-decode",
                operation: "push of 4 tuples read from a stream, every tuple checked",
                make: { try AppMessageDecodeWorkload(try SampleDictionary.small()) }
            ),
            Benchmark(
                name: "appmessage-encode-8k",
                operation: "push of 8192 bytes written into a stream",
                payloadByteCount: 8192,
                make: { try AppMessageEncodeWorkload(try SampleDictionary.large()) }
            ),
            Benchmark(
                name: "appmessage-decode-8k",
                operation: "push of 8192 bytes read from a stream, checked",
                payloadByteCount: 8192,
                make: { try AppMessageDecodeWorkload(try SampleDictionary.large()) }
            ),
        ]
    }

    static var comparisons: [Comparison] {
        [
            Comparison(
                name: "faults-cleared",
                description:
                    "echo-watch at a watch that has had faults and has none, compared with one that never had any",
                baseline: { try EchoWorkload() },
                compared: { try EchoWorkload(hadFaults: true) },
                targetRatio: 1.1
            ),
            Comparison(
                name: "idle-connections",
                description:
                    "a notification beside 7 connections that are idle, compared with one by itself",
                baseline: { try NotificationWorkload() },
                compared: { try NotificationWorkload(idleConnections: 7) },
                targetRatio: 1.1
            ),
            Comparison(
                name: "att-read-scaling",
                description: "reading the last of 2000 attributes, compared with the last of 8",
                baseline: { try ReadWorkload(attributeCount: 8) },
                compared: { try ReadWorkload(attributeCount: 2000) },
                targetRatio: 1.25
            ),
            Comparison(
                name: "recording",
                description: "echo-watch with the flight recorder around the watch, compared with none",
                baseline: { try EchoWorkload() },
                compared: { try EchoWorkload { RecordedWatch($0) } },
                targetRatio: 1.1
            ),
        ]
    }
}
