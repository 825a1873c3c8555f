import type { OpenAPIObject } from '@nestjs/swagger';
import { EVENT_CATALOGUE, EVENT_NAMES, type EventName } from './catalogue/event-catalogue.js';
import { type EventMember, type EventMembers, exampleOf } from './catalogue/event-type.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

const EXAMPLE_ID = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d10';
const EXAMPLE_TIME = '2026-11-20T14:00:00.000Z';

/** exampleMessage returns an example message for an event. */
export function exampleMessage(type: EventName) {
  return { id: EXAMPLE_ID, type, timestamp: EXAMPLE_TIME, data: exampleOf(EVENT_CATALOGUE[type].data) };
}

/** schemaNameOf returns the name of an event's schema, such as `SigningRequestSignedEvent`. */
export function schemaNameOf(type: EventName): string {
  return `${type.replaceAll(/(?:^|[.-])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`;
}

/** describeWebhooks adds the webhook of every event to the OpenAPI document, with a schema for each message. */
export function describeWebhooks(document: OpenAPIObject): void {
  const schemas: Schemas = (document.components ??= {}).schemas ?? {};
  document.components.schemas = schemas;
  document.webhooks = Object.fromEntries(EVENT_NAMES.map((type) => [type, { post: operationOf(type) }]));
  for (const type of EVENT_NAMES) schemas[schemaNameOf(type)] = messageSchema(type);
}

function operationOf(type: EventName) {
  const { description, permission } = EVENT_CATALOGUE[type];
  const schema = { $ref: `#/components/schemas/${schemaNameOf(type)}` };
  return {
    operationId: `on${schemaNameOf(type)}`,
    summary: `Receive ${type} events`,
    description: `${description} Requires the permission \`${permission}\`.`,
    tags: ['Webhooks'],
    security: [],
    requestBody: { required: true, content: { 'application/json': { schema, example: exampleMessage(type) } } },
    responses: {
      '2XX': { description: 'The message was received. Any other response causes another attempt.' },
      '410': { description: 'The endpoint no longer exists and is disabled.' },
    },
  };
}

function messageSchema(type: EventName): Schemas[string] {
  const { description, data } = EVENT_CATALOGUE[type];
  return {
    type: 'object',
    description,
    required: ['type', 'timestamp', 'data'],
    properties: {
      id: { type: 'string', format: 'uuid', description: 'ID of the event. Absent from tests.', example: EXAMPLE_ID },
      type: { type: 'string', enum: [type], description: 'Type of the event.' },
      timestamp: { type: 'string', format: 'date-time', description: 'Time of the event.', example: EXAMPLE_TIME },
      test: { type: 'boolean', description: 'True for a test, whose `data` is an example. Otherwise absent.' },
      data: { ...objectSchema(data), description: 'Facts of the event.' },
    },
  };
}

function objectSchema(members: EventMembers): Schemas[string] & object {
  const names = Object.keys(members);
  return {
    type: 'object',
    required: names.filter((name) => members[name]?.isOptional !== true),
    properties: Object.fromEntries(names.map((name) => [name, memberSchema(members[name] as EventMember)])),
  };
}

function memberSchema(member: EventMember): Schemas[string] {
  const { type, format, items, additionalProperties, properties, description, example, enum: values } = member;
  if (properties !== undefined) return { ...objectSchema(properties), description, example };
  const rules = { format, items, additionalProperties, enum: values === undefined ? undefined : [...values] };
  return { type, ...withoutUndefined(rules), description, example };
}

function withoutUndefined<Value extends object>(value: Value): Partial<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<Value>;
}
