// Reads lines of {"schema": "searchQuerySchema", "json": "..."} and answers each with one line:
// {"ok": true, "value": ..., "keys": [...]} or {"ok": false, "issues": [...]}.

import { createInterface } from "node:readline";
import * as schemas from "./schemas.mjs";

// JSON has no dates, and `z.date()` takes nothing but a Date: a client revives the two date fields of a query, and
// only there, because "end" of a highlight is a number and a text called "start" is a text.
const revive = (key, value) => {
  if (key !== "dateRange" || value === null || typeof value !== "object") return value;
  const asDate = (moment) => (typeof moment === "string" ? new Date(moment) : moment);
  return { ...value, start: asDate(value.start), end: asDate(value.end) };
};

const parse = (schema, json) =>
  schema === "dateRangeSchema" ? revive("dateRange", JSON.parse(json)) : JSON.parse(json, revive);

const keysOf = (schema) => Object.keys((schema._def.schema ?? schema).shape ?? {});

for await (const line of createInterface({ input: process.stdin })) {
  const { schema, json } = JSON.parse(line);
  const known = schemas[schema];
  const done = known.safeParse(parse(schema, json));
  console.log(
    JSON.stringify(
      done.success
        ? { ok: true, value: done.data, keys: keysOf(known), marked: marked(done.data) }
        : { ok: false, issues: done.error.issues },
    ),
  );
}

// What a client shows in bold, by the offsets that the result gives.
function marked(value) {
  if (!Array.isArray(value?.offsets)) return undefined;
  const characters = Array.from(value.fragment);
  return value.offsets.map(({ start, end }) => characters.slice(start, end).join(""));
}
