-- Gives the four hashes, the departure and how many milliseconds ago it was (or two times ''), and
-- the holder; nothing if there is no record.
local holder = read_holder('')
if not holder then
  return {}
end
local fields = redis.call('HMGET', KEYS[1], 'tools', 'prompts', 'resources', 'rest', 'departed',
  'departed_at')
local departed, ago = fields[5] or '', ''
if fields[6] then
  ago = string.format('%.0f', math.max(now - fields[6], 0))
end
return with_holder({ fields[1], fields[2], fields[3], fields[4], departed, ago }, holder)
