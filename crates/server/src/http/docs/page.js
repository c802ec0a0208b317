// Draws /openapi.json: every call with what it takes and what it answers. Texts are set as text, never as HTML.

/** An element: make("p", { className: "x" }, "text", child, …). */
function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A text in which `words` between backticks are code. */
function prose(text = "") {
  return text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

/** What a reference names, and what may be null without the null. The nearest description is the one that counts. */
function resolve(document, schema = {}) {
  const others = (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.type !== "null");
  let found = null;
  if (schema.$ref) found = schema.$ref.slice(2).split("/").reduce((at, name) => at[name], document);
  else if (others.length === 1) found = others[0];
  return found ? { ...resolve(document, found), ...(schema.description && { description: schema.description }) } : schema;
}

/** A type in a few words: "string, up to 200 characters". */
function type(document, given) {
  const schema = resolve(document, given);
  if (schema.oneOf ?? schema.anyOf) return (schema.oneOf ?? schema.anyOf).map((one) => type(document, one)).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const names = [schema.type ?? "any"].flat().filter((name) => name !== "null");
  if (names[0] === "array") return `list of ${type(document, schema.items)}`;
  const kind = { "date-time": "time, RFC 3339", uuid: "UUID" }[schema.format] ?? names.join(" or ");
  const bounds = [];
  if (schema.minimum !== undefined) bounds.push(`from ${schema.minimum}`);
  if (schema.maximum !== undefined) bounds.push(`to ${schema.maximum}`);
  if (schema.maxLength !== undefined) bounds.push(`up to ${schema.maxLength} characters`);
  return bounds.length ? `${kind}, ${bounds.join(" ")}` : kind;
}

function row(document, name, schema, required, description) {
  const cell = make("td", {}, make("code", {}, name), required ? make("span", { className: "needed", title: "needed" }, "*") : null);
  return make("tr", {}, cell, make("td", {}, type(document, schema)), make("td", {}, ...prose(description)));
}

/** A table of the fields of an object, and of what its lists hold. Those that must be given are marked. */
function fields(document, given, marked, depth = 0) {
  const schema = resolve(document, given);
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    row(document, name, field, marked && schema.required?.includes(name), field.description ?? resolve(document, field).description));
  if (!rows.length) return [];
  const parts = [make("table", {}, ...rows)];
  for (const [name, field] of Object.entries(schema.properties)) {
    const list = resolve(document, field);
    const inner = list.type === "array" ? fields(document, list.items, marked, depth + 1) : [];
    if (inner.length && depth < 2) parts.push(make("h4", {}, `each of ${name}`), ...inner);
  }
  return parts;
}

function curl(call) {
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_, name) => name.toUpperCase());
  const parts = [call.method === "get" ? `curl ${location.origin}${path}` : `curl -X ${call.method.toUpperCase()} ${location.origin}${path}`];
  if (!call.open) parts.push(`-H "Authorization: Bearer $TENURE_KEY"`);
  if (call.body) parts.push(`-H "Content-Type: application/json"`, `-d '${JSON.stringify(call.example)}'`);
  return parts.join(" \\\n  ");
}

/** The calls of the document, in its order of tags. */
function callsOf(document) {
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, call]) => ({
      path, method, id: call.operationId, tag: call.tags?.[0] ?? "", summary: call.summary ?? "", description: call.description ?? "",
      parameters: call.parameters ?? [], open: (call.security ?? []).some((one) => !Object.keys(one).length),
      body: call.requestBody?.content?.["application/json"]?.schema, responses: call.responses ?? {},
      example: call.requestBody?.content?.["application/json"]?.example,
    })));
  return document.tags.map((tag) => ({ ...tag, calls: calls.filter((call) => call.tag === tag.name) })).filter((tag) => tag.calls.length);
}

function article(document, call) {
  const parts = [
    make("div", { className: "route" }, make("span", { className: `verb ${call.method}` }, call.method.toUpperCase()),
      make("a", { href: `#${call.id}` }, make("code", {}, call.path))),
    make("h3", {}, ...prose(call.summary)),
  ];
  if (call.description && call.description !== call.summary) parts.push(make("p", {}, ...prose(call.description)));
  if (call.open) parts.push(make("p", {}, "Takes no key."));
  if (call.parameters.length) {
    const rows = call.parameters.map((one) => row(document, one.name, one.schema, one.required, [one.description, one.in === "header" ? "A header." : null].filter(Boolean).join(". ")));
    parts.push(make("h4", {}, "Parameters"), make("table", {}, ...rows));
  }
  if (call.body) parts.push(make("h4", {}, "Body"), ...fields(document, call.body, true));
  for (const [status, response] of Object.entries(call.responses)) {
    if (status === "default") continue;
    const content = Object.values(response.content ?? {})[0]?.schema;
    const shown = content ? fields(document, content, false) : [];
    const title = [`Answer ${status}`, response.description].filter(Boolean).join(": ");
    parts.push(shown.length ? make("details", {}, make("summary", {}, title), ...shown) : make("p", { className: "answer" }, title));
  }
  parts.push(make("details", {}, make("summary", {}, "With curl"), make("pre", {}, curl(call))));
  return make("article", { id: call.id }, ...parts);
}

const SPECIFIC = ["path", "id", "summary", "description", "tag"];

/** Shows the calls that have all the words, and hides the rest. */
function search(groups, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const group of groups) {
    const shown = group.calls.filter((call) => {
      const hit = words.every((word) => call.words.includes(word));
      call.link.hidden = call.article.hidden = !hit;
      return hit;
    });
    for (const element of group.elements) element.hidden = !shown.length;
    found += shown.length;
  }
  return found;
}

async function draw() {
  const [contents, main, field] = ["contents", "calls", "search"].map((id) => window.document.getElementById(id));
  const answer = await fetch("/openapi.json");
  const document = await answer.json();
  window.document.getElementById("version").textContent = document.info.version;
  main.append(make("header", {}, make("p", {}, ...prose(document.info.description)),
    make("p", {}, ...prose("Send a key with every call: `Authorization: Bearer tnr_…`. A refusal is `application/problem+json` with `code`, `what`, `why` and `next`; each code has a page at `/errors/CODE`. The document itself is "),
      make("a", { href: "/openapi.json" }, "openapi.json"), ".")));
  const groups = callsOf(document);
  for (const group of groups) {
    const [title, heading, about] = [make("h2", {}, group.name), make("h2", {}, group.name), make("p", {}, group.description ?? "")];
    group.elements = [title, heading, about];
    contents.append(title);
    main.append(heading, about);
    for (const call of group.calls) {
      call.words = SPECIFIC.map((part) => call[part]).join(" ").toLowerCase();
      call.link = make("a", { href: `#${call.id}`, title: call.path }, make("span", { className: `verb ${call.method}` }, call.method.toUpperCase()), make("span", {}, ...prose(call.summary)));
      call.article = article(document, call);
      contents.append(call.link);
      main.append(call.article);
    }
  }
  const none = make("p", { className: "none", hidden: true }, "Nothing here has all these words.");
  main.append(none);
  field.addEventListener("input", () => { none.hidden = search(groups, field.value) > 0; });
  // What the address names was not there when the page was loaded.
  if (location.hash) location.replace(location.hash);
}

draw().catch((error) => document.getElementById("calls").append(make("p", {}, `/openapi.json cannot be drawn: ${error.message}`)));
