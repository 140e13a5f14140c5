-- In front of every script on a task. KEYS[1] is a hash: stamp, state, request, driver, and
-- driven_until as long as it has to be driven. KEYS[2] is the sorted set of all tasks that have to
-- be, by the time when the leases of their drivers lapse; ARGV[1] is the task's name there.

-- The set lives as long as the task that lives longest.
local function keep_list()
  local ttl = redis.call('PTTL', KEYS[1])
  if redis.call('PTTL', KEYS[2]) < ttl then
    redis.call('PEXPIRE', KEYS[2], ttl)
  end
end

local function set_driven(driven_until)
  local text = string.format('%.0f', driven_until)
  redis.call('HSET', KEYS[1], 'driven_until', text)
  redis.call('ZADD', KEYS[2], text, ARGV[1])
  keep_list()
end
