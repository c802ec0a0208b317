// Validates an OpenAPI document, its examples included. Called by script/openapi/validate:
//
//   node lint.js NODE_MODULES DOCUMENT

const { createRequire } = require("node:module");
const { readFileSync } = require("node:fs");
const { resolve } = require("node:path");

const [modules, document] = process.argv.slice(2).map((path) => resolve(path));
const { createConfig, lintFromString } = createRequire(`${modules}/`)("@redocly/openapi-core");

const examples = { severity: "error", allowAdditionalProperties: false };
const rules = {
  struct: "error",
  "no-unresolved-refs": "error",
  "no-unused-components": "error",
  "no-identical-paths": "error",
  "path-parameters-defined": "error",
  "operation-operationId": "error",
  "operation-operationId-unique": "error",
  "operation-operationId-url-safe": "error",
  "operation-parameters-unique": "error",
  "operation-summary": "error",
  "operation-tag-defined": "error",
  "tag-description": "error",
  "security-defined": "error",
  "no-enum-type-mismatch": "error",
  "no-required-schema-properties-undefined": "error",
  "no-schema-type-mismatch": "error",
  "no-invalid-media-type-examples": examples,
  "no-invalid-parameter-examples": examples,
  "no-invalid-schema-examples": examples,
};

async function lint() {
  const config = await createConfig({ rules });
  const found = await lintFromString({ source: readFileSync(document, "utf8"), absoluteRef: document, config });
  for (const { ruleId, message, location } of found) {
    console.log(`${location[0]?.pointer ?? "#/"}: ${message} (${ruleId})`);
  }
  // Set, not called: what was printed to a pipe is still to be written.
  process.exitCode = found.length ? 1 : 0;
}

lint();
