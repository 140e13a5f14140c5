-- ARGV: how many at most. Gives the names of tasks whose drivers' leases have lapsed.
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[1])
