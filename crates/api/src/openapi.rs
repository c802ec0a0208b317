//! The operations as an OpenAPI 3.1 document. Its schemas are JSON Schema 2020-12, as schemars derives them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::fields::describe;
use crate::values::JSON_MARK;
use crate::{Effect, Operation, Problem};

/// The schema of a type, with everything in it.
pub fn plain_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip(&mut schema);
    schema
}

/// A document under construction.
pub struct Document {
    questions: SchemaGenerator,
    answers: SchemaGenerator,
    paths: Map<String, Value>,
}

impl Default for Document {
    fn default() -> Document {
        let generator = |mut settings: SchemaSettings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
            settings.into_generator()
        };
        Document {
            questions: generator(SchemaSettings::draft2020_12()),
            answers: generator(SchemaSettings::draft2020_12().for_serialize()),
            paths: Map::new(),
        }
    }
}

/// The document of every operation: its `paths`, and the `schemas` of its components.
pub fn document() -> (Map<String, Value>, Map<String, Value>) {
    let mut document = Document::default();
    macro_rules! add {
        ($($how:ident $operation:ty,)*) => { $(document.add::<$operation>();)* };
    }
    crate::for_each_operation!(add);
    document.answers.subschema_for::<Problem>();
    document.finish()
}

/// The response of a refusal.
pub fn refused() -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    json!({"description": "Refused", "content": {"application/problem+json": {"schema": schema}}})
}

impl Document {
    /// Adds an operation.
    pub fn add<O: Operation>(&mut self) {
        let description = describe::<O>();
        let mut entry = json!({
            "operationId": O::NAME,
            "tags": [O::ROUTE.tag],
            "summary": description.summary,
            "parameters": parameters::<O>(),
            "responses": self.responses::<O>(),
        });
        if !description.details.is_empty() {
            entry["description"] = description.details.clone().into();
        }
        if O::ROUTE.has_body() {
            entry["requestBody"] = self.body::<O>();
        }
        let path = self.paths.entry(O::ROUTE.path).or_insert_with(|| json!({}));
        path[O::ROUTE.method.to_ascii_lowercase()] = entry;
    }

    fn body<O: Operation>(&mut self) -> Value {
        let mut schema = O::json_schema(&mut self.questions).to_value();
        let spec = O::ROUTE.spec.map(|spec| {
            let property = &schema["properties"][spec];
            let name = property["$ref"].as_str().or(property["allOf"][0]["$ref"].as_str());
            let name = name
                .and_then(|path| path.rsplit('/').next())
                .unwrap_or_default()
                .to_owned();
            (
                spec,
                self.questions.definitions().get(&name).cloned().unwrap_or_default(),
            )
        });
        if let Some(members) = schema["properties"].as_object_mut() {
            members.retain(|name, _| !O::ROUTE.is_in_path(name) && !O::ROUTE.query.contains(&name.as_str()));
            if let Some((spec, inner)) = &spec {
                members.remove(*spec);
                members.extend(
                    inner["properties"]
                        .as_object()
                        .into_iter()
                        .flatten()
                        .map(|(name, of)| (name.clone(), of.clone())),
                );
            }
        }
        let own = schema["required"].as_array().into_iter().flatten();
        let inner = spec
            .as_ref()
            .and_then(|(_, inner)| inner["required"].as_array())
            .into_iter()
            .flatten();
        let required: Vec<Value> = own
            .chain(inner)
            .filter(|name| schema["properties"].get(name.as_str().unwrap_or_default()).is_some())
            .cloned()
            .collect();
        let is_required = !required.is_empty();
        schema["required"] = required.into();
        if !is_required && let Some(schema) = schema.as_object_mut() {
            schema.remove("required");
        }
        for (_, member) in schema["properties"].as_object_mut().into_iter().flatten() {
            or_null(member);
        }
        schema["additionalProperties"] = false.into();
        let name = format!("{}Request", O::schema_name());
        self.questions.definitions_mut().insert(name.clone(), schema);
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        json!({"required": is_required, "content": {"application/json": {"schema": schema}}})
    }

    fn responses<O: Operation>(&mut self) -> Value {
        let schema = self.answers.subschema_for::<O::Answer>().to_value();
        let content = |kind: &str, schema: &Value| json!({kind: {"schema": schema}});
        let mut responses = json!({"default": refused()});
        for (status, description) in O::ROUTE.statuses {
            responses[status.to_string()] =
                json!({"description": description, "content": content("application/json", &schema)});
        }
        responses
    }

    /// The paths, and the schemas that they refer to.
    pub fn finish(mut self) -> (Map<String, Value>, Map<String, Value>) {
        let mut schemas = self.questions.take_definitions(true);
        schemas.extend(self.answers.take_definitions(true));
        let mut paths = Value::Object(self.paths);
        strip(&mut paths);
        for schema in schemas.values_mut() {
            strip(schema);
        }
        let Value::Object(paths) = paths else {
            return (Map::new(), schemas);
        };
        (paths, schemas)
    }
}

/// The parameters of the path and the query, and the header that names a change.
fn parameters<O: Operation>() -> Vec<Value> {
    let mut found = Vec::new();
    for field in &describe::<O>().fields {
        let place = match field.name.as_str() {
            name if O::ROUTE.is_in_path(name) => "path",
            name if O::ROUTE.has_body() && !O::ROUTE.query.contains(&name) => continue,
            _ => "query",
        };
        let mut schema = field.schema.clone();
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        found.push(json!({
            "name": field.name,
            "in": place,
            "required": place == "path" || field.is_required,
            "description": description,
            "schema": without_null(schema),
        }));
    }
    if O::EFFECT != Effect::Reads {
        found.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "Names this request. Repeated with the same key and body, it is not carried out again and gets the same answer.",
            "schema": {"type": "string", "minLength": 1, "maxLength": tenure_core::limits::KEY_CHARS_MAX},
        }));
    }
    found
}

/// A member of a body that has a default may be null: it counts as left out.
fn or_null(member: &mut Value) {
    if member.get("default").is_none() {
        return;
    }
    if let Some(kind) = member["type"].as_str().map(str::to_owned) {
        member["type"] = json!([kind, "null"]);
        if let Some(words) = member.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
    } else if let Some(reference) = member.as_object_mut().and_then(|member| member.remove("$ref")) {
        member["anyOf"] = json!([{"$ref": reference}, {"type": "null"}]);
    }
}

/// A parameter is there or not, but never null.
fn without_null(mut schema: Value) -> Value {
    if let Some(types) = schema["type"].as_array() {
        let mut types: Vec<Value> = types.iter().filter(|kind| **kind != "null").cloned().collect();
        schema["type"] = if types.len() == 1 {
            types.remove(0)
        } else {
            types.into()
        };
    }
    if let Some(parts) = schema["anyOf"].as_array() {
        let mut parts: Vec<Value> = parts.iter().filter(|part| part["type"] != "null").cloned().collect();
        if parts.len() == 1 {
            let mut only = parts.remove(0);
            let rest = schema
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(name, _)| *name != "anyOf");
            only.as_object_mut()
                .into_iter()
                .for_each(|only| only.extend(rest.clone().map(|(name, of)| (name.clone(), of.clone()))));
            return only;
        }
        schema["anyOf"] = parts.into();
    }
    schema
}

/// Takes out what is only for us: marks, and formats that no validator knows.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove(JSON_MARK);
            members.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}
