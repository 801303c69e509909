-- Requests a random path: PREFIX and one of COUNT numbers that start at FIRST and are STEP apart.
-- Arguments: PREFIX FIRST STEP COUNT ROUND

local first, step, count, head, tail

function init(args)
   first, step, count = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
   math.randomseed(tonumber(args[5]))
   -- Formatted once: formatting each request would make wrk slower than the server.
   head, tail = wrk.format("GET", args[1] .. "@NUMBER@"):match("^(.*)@NUMBER@(.*)$")
end

function request()
   return head .. first + step * math.random(0, count - 1) .. tail
end
