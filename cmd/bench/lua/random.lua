-- Asks for a random address: PREFIX and one of COUNT numbers, STEP apart from FIRST on.
-- Arguments: PREFIX FIRST STEP COUNT ROUND

local first, step, count, head, tail

function init(args)
   first, step, count = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
   math.randomseed(tonumber(args[5]))
   -- Cut in two once: to format every request would make wrk the slower one.
   head, tail = wrk.format("GET", args[1] .. "@NUMBER@"):match("^(.*)@NUMBER@(.*)$")
end

function request()
   return head .. first + step * math.random(0, count - 1) .. tail
end
