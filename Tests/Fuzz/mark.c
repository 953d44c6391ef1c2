// The mark in front of the object of the room ROOM: a counter, and its place in the code, that stand before those of the room. See rooms.c.

#include "rooms.h"

#define TEXT(name) #name
#define QUOTED(name) TEXT(name)

__attribute__((section("__sancov_cntrs"), used)) static uint8_t counter = 0;
__attribute__((section("__sancov_pcs"), used)) static uintptr_t place[2] = {(uintptr_t)&counter, 0};
__attribute__((section("cairn_rooms"), used)) static struct room room = {QUOTED(ROOM), &counter, place};
