-- The health of a StreamJob for Argo CD: the value of resource.customizations.health.sluice.dev_StreamJob in the
-- ConfigMap argocd-cm. See docs/argo-cd.md.
local health = { status = "Progressing", message = "The operator has not looked at it yet." }
local status = obj.status
if status == nil or status.conditions == nil then
  return health
end
-- What is told is about a former spec: wait for what the operator says of this one.
if status.observedGeneration ~= nil and status.observedGeneration < obj.metadata.generation then
  health.message = "The operator has not seen generation " .. obj.metadata.generation .. " yet."
  return health
end

local found = {}
for _, condition in ipairs(status.conditions) do
  found[condition.type] = condition
end
local function is(name, value)
  return found[name] ~= nil and found[name].status == value
end

if obj.spec ~= nil and obj.spec.suspend and status.phase == "Suspended" then
  return { status = "Suspended", message = found.DriverRunning and found.DriverRunning.message or "" }
end
if status.phase == "Paused" then
  return { status = "Suspended", message = found.DriverRunning and found.DriverRunning.message or "" }
end
-- A spec that is applied in part, or not yet, is in force all the same: then Ready says how the job is. A driver of a
-- deleted job of this name is waited for.
local refused = { InvalidSpec = true, MigrationRefused = true, RolledBack = true, RollbackRefused = true }
for _, name in ipairs({ "SpecValid", "CheckpointHeld", "SpecApplied" }) do
  local is_trouble = is(name, "False") and found[name].reason ~= "PredecessorStops"
  if is_trouble and (name ~= "SpecApplied" or refused[found[name].reason]) then
    return { status = "Degraded", message = found[name].message }
  end
end
if status.phase == "Failed" or status.phase == "BackingOff" or is("Progressing", "False") then
  local condition = is("Progressing", "False") and found.Progressing or found.Ready
  return { status = "Degraded", message = condition and condition.message or "" }
end
if is("Ready", "True") then
  return { status = "Healthy", message = found.Ready.message }
end
health.message = found.Ready and found.Ready.message or health.message
return health
