-- Gives the epoch that a claim would have that were made now.
local stored = redis.call('HGET', KEYS[1], 'epoch') or 0
return string.format('%.0f', math.max(tonumber(stored), micros) + 1)
