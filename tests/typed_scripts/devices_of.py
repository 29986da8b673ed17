"""The devices of a machine, and a default format in a block."""

import portmp as mp

names = [device.name for device in mp.devices()]
with mp.device(names[0]), mp.default_format("ts"):
    print(mp.maximum(mp.zeros(3), 1).to_strings(3))
