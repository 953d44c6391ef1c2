// libbluetooth (BlueZ), and the few things of it that Swift cannot import: ioctl requests are function-like macros, ioctl itself
// is variadic, and a list of devices ends in an array without a size.

#ifndef CBLUETOOTH_H
#define CBLUETOOTH_H

// As in CLinux.h.
#pragma clang module import SwiftGlibc

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <errno.h>
#include <linux/rfkill.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

// Writes the numbers of at most HCI_MAX_DEV adapters to `devices`. Returns how many there are, or -1 and errno.
static inline int cbluetooth_devices(int socket, uint16_t devices[HCI_MAX_DEV])
{
    union {
        struct hci_dev_list_req list;
        uint8_t room[sizeof(struct hci_dev_list_req) + HCI_MAX_DEV * sizeof(struct hci_dev_req)];
    } request = { .list = { .dev_num = HCI_MAX_DEV } };
    if (ioctl(socket, HCIGETDEVLIST, &request) < 0)
        return -1;
    int count = request.list.dev_num < HCI_MAX_DEV ? request.list.dev_num : HCI_MAX_DEV;
    for (int index = 0; index < count; index++)
        devices[index] = request.list.dev_req[index].dev_id;
    return count;
}

// Fills in what the kernel knows about the adapter that `information->dev_id` names. Returns 0, or -1 and errno.
static inline int cbluetooth_device_information(int socket, struct hci_dev_info *information)
{
    return ioctl(socket, HCIGETDEVINFO, information);
}

// Switches an adapter on. Returns 0, or -1 and errno.
static inline int cbluetooth_device_up(int socket, uint16_t device) { return ioctl(socket, HCIDEVUP, device); }

// Switches an adapter off. Returns 0, or -1 and errno.
static inline int cbluetooth_device_down(int socket, uint16_t device) { return ioctl(socket, HCIDEVDOWN, device); }

// Binds a socket to a channel of an adapter. Returns 0, or -1 and errno.
static inline int cbluetooth_bind(int socket, uint16_t device, uint16_t channel)
{
    struct sockaddr_hci address = { .hci_family = AF_BLUETOOTH, .hci_dev = device, .hci_channel = channel };
    return bind(socket, (struct sockaddr *)&address, sizeof address);
}

#endif
