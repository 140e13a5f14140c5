-- In front of every script that needs the time: the server's own clock is the only one that counts.
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)
