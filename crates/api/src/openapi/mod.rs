//! The operations as an OpenAPI 3.1 document. Its schemas are JSON Schema 2020-12, as schemars derives them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use self::schemas::{keep_used, name_of, or_null, reference_to, strip, without_null};
use crate::fields::describe;
use crate::governed::GOVERNED_STATUSES;
use crate::{Effect, Operation, Problem};

mod examples;
mod schemas;

pub use self::examples::add_examples;

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

/// The response of a refusal: `Refused` of the components, which every operation refers to.
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
            "parameters": self.parameters::<O>(),
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
            let name = name_of(property).or(name_of(&property["allOf"][0]));
            let name = name.unwrap_or_default().to_owned();
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
        let schema = reference_to(&name);
        json!({"required": is_required, "content": {"application/json": {"schema": schema}}})
    }

    fn responses<O: Operation>(&mut self) -> Value {
        let answer = self.answers.subschema_for::<O::Answer>().to_value();
        let mut responses = json!({"default": {"$ref": "#/components/responses/Refused"}});
        for (status, description) in O::ROUTE.statuses {
            let schema = self.answer_at::<O>(*status, &answer);
            responses[status.to_string()] =
                json!({"description": description, "content": {"application/json": {"schema": schema}}});
        }
        responses
    }

    /// The schema of the answer with this status. A governed change has two: its result, and the change that waits.
    fn answer_at<O: Operation>(&self, status: u16, answer: &Value) -> Value {
        let governed = name_of(answer).filter(|_| O::ROUTE.statuses == GOVERNED_STATUSES);
        let either = governed.and_then(|name| self.answers.definitions().get(name)?["anyOf"].as_array());
        match either.map(Vec::as_slice) {
            Some([pending, done]) => if status == 202 { pending } else { done }.clone(),
            _ => answer.clone(),
        }
    }

    /// The parameters of the path and the query, and the header that names a change.
    fn parameters<O: Operation>(&mut self) -> Vec<Value> {
        let own = O::json_schema(&mut self.questions).to_value();
        let mut found = Vec::new();
        for field in &describe::<O>().fields {
            let place = match field.name.as_str() {
                name if O::ROUTE.is_in_path(name) => "path",
                name if O::ROUTE.has_body() && !O::ROUTE.query.contains(&name) => continue,
                _ => "query",
            };
            let mut schema = own["properties"][&field.name].clone();
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

    /// The paths, and the schemas that they refer to.
    pub fn finish(mut self) -> (Map<String, Value>, Map<String, Value>) {
        let mut schemas = self.questions.take_definitions(true);
        schemas.extend(self.answers.take_definitions(true));
        let mut paths = Value::Object(self.paths);
        keep_used(&mut schemas, &json!([paths, refused()]));
        strip(&mut paths);
        schemas.values_mut().for_each(strip);
        let Value::Object(paths) = paths else {
            return (Map::new(), schemas);
        };
        (paths, schemas)
    }
}
