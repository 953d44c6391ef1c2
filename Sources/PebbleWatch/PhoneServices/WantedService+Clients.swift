import BluetoothHost

// What the clients look for on phones.

/// Bluetooth's and Apple's numbers of the services and of what they consist of.
enum PhoneServiceUUID {
    static let currentTimeService = BluetoothUUID.uuid16(0x1805)
    static let currentTime = BluetoothUUID.uuid16(0x2A2B)
    static let localTimeInformation = BluetoothUUID.uuid16(0x2A0F)

    static let deviceInformation = BluetoothUUID.uuid16(0x180A)
    static let manufacturerName = BluetoothUUID.uuid16(0x2A29)

    static let ancs = BluetoothUUID.uuid128(0x7905_F431_B5CE_4E99_A40F_4B1E_122D_00D0)
    static let notificationSource = BluetoothUUID.uuid128(0x9FBF_120D_6301_42D9_8C58_25E6_99A2_1DBD)
    static let dataSource = BluetoothUUID.uuid128(0x22EA_C6E9_24D6_4BB5_BE44_B36A_CE7C_7BFB)
    static let controlPoint = BluetoothUUID.uuid128(0x69D1_D8F3_45E1_49A8_9821_9BBD_FDAA_D9D9)

    static let ams = BluetoothUUID.uuid128(0x89D3_502B_0F36_433A_8EF4_C502_AD55_F8DC)
    static let remoteCommand = BluetoothUUID.uuid128(0x9B3C_81D8_57B1_4A8A_B8DF_0E56_F7CA_51C2)
    static let entityUpdate = BluetoothUUID.uuid128(0x2F7C_ABCE_808D_411F_9A0C_BB92_BA96_C102)
    static let entityAttribute = BluetoothUUID.uuid128(0xC6B2_F38C_23AB_46D8_A6AB_A3A8_70BB_D5D7)
}

extension WantedService {
    /// The Apple Notification Center Service.
    static let notifications = WantedService(
        PhoneServiceUUID.ancs,
        .required(PhoneServiceUUID.notificationSource, isSubscribedTo: true),
        .required(PhoneServiceUUID.dataSource, isSubscribedTo: true),
        .required(PhoneServiceUUID.controlPoint)
    )

    /// The Apple Media Service.
    static let media = WantedService(
        PhoneServiceUUID.ams,
        .required(PhoneServiceUUID.remoteCommand),
        .required(PhoneServiceUUID.entityUpdate, isSubscribedTo: true),
        .required(PhoneServiceUUID.entityAttribute)
    )

    /// The Current Time Service, of which only the time itself is mandatory.
    static let currentTime = WantedService(
        PhoneServiceUUID.currentTimeService,
        .optional(PhoneServiceUUID.currentTime, isSubscribedTo: true),
        .optional(PhoneServiceUUID.localTimeInformation)
    )

    /// Device Information: that it is there says that the phone has iOS 9 or newer. Nothing in it is read.
    static let deviceInformation = WantedService(
        PhoneServiceUUID.deviceInformation,
        .required(PhoneServiceUUID.manufacturerName)
    )
}

extension PhoneServiceKind {
    /// What it is looked for by.
    var service: WantedService {
        switch self {
        case .notifications: .notifications
        case .media: .media
        case .time: .currentTime
        }
    }
}

extension NotifyingValue {
    fileprivate init?(_ characteristic: PhoneService.Characteristic?) {
        guard let characteristic, let configuration = characteristic.configuration else { return nil }
        self.init(value: characteristic.value, configuration: configuration)
    }
}

extension ANCSClient.Handles {
    /// Nil if the service lacks something.
    init?(_ service: PhoneService) {
        guard let notificationSource = NotifyingValue(service[PhoneServiceUUID.notificationSource]),
            let dataSource = NotifyingValue(service[PhoneServiceUUID.dataSource]),
            let controlPoint = service[PhoneServiceUUID.controlPoint]
        else { return nil }
        self.init(
            notificationSource: notificationSource,
            dataSource: dataSource,
            controlPoint: controlPoint.value
        )
    }
}

extension AMSClient.Handles {
    /// Nil if the service lacks something.
    init?(_ service: PhoneService) {
        guard let remoteCommand = service[PhoneServiceUUID.remoteCommand],
            let entityUpdate = NotifyingValue(service[PhoneServiceUUID.entityUpdate]),
            let entityAttribute = service[PhoneServiceUUID.entityAttribute]
        else { return nil }
        self.init(
            remoteCommand: remoteCommand.value,
            entityUpdate: entityUpdate,
            entityAttribute: entityAttribute.value
        )
    }
}

extension CurrentTimeClient.Handles {
    /// Nil if the service lacks the time.
    init?(_ service: PhoneService) {
        guard let currentTime = service[PhoneServiceUUID.currentTime] else { return nil }
        self.init(
            currentTime: currentTime.value,
            configuration: currentTime.configuration,
            localTimeInformation: service[PhoneServiceUUID.localTimeInformation]?.value
        )
    }
}
