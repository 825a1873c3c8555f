import type { Scope } from '../../access/scopes.js';
import type { AuditOutcome } from '../../audit/entries/audit-entry.entity.js';

/** EventMember describes a member of an event's `data`: a JSON Schema with an example. */
export interface EventMember {
  readonly type: 'string' | 'integer' | 'array' | 'object';
  readonly format?: 'uuid' | 'date-time';
  readonly enum?: readonly string[];
  readonly description: string;
  readonly items?: { readonly type: 'string' };
  readonly properties?: EventMembers;
  readonly additionalProperties?: true;
  readonly example: unknown;
  /** Whether the member is absent from some events. */
  readonly isOptional?: true;
}
export type EventMembers = Readonly<Record<string, EventMember>>;

/** The audit entry from which an event is derived, without the seal. */
export interface EventEntry {
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly target: { readonly kind: string; readonly id: string };
  readonly source: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** EventSource defines which audit entries are events of a type. */
export interface EventSource {
  readonly action: string;
  /** Reports whether an entry with this action is an event of the type. If absent, every entry with this action is. */
  readonly when?: (entry: EventEntry) => boolean;
  /** Action of the first entry about the same target. The first entry contains facts that later entries do not repeat. */
  readonly opening?: string;
  /** Returns `data`. `opening` is undefined if the entry is missing or was not written by this service. */
  readonly data: (entry: EventEntry, opening: EventEntry | undefined) => Readonly<Record<string, unknown>>;
}

export interface EventType {
  /** When the event occurs: a full sentence. */
  readonly description: string;
  /** Scope that a caller needs to receive the event. */
  readonly permission: Scope;
  /** Whether callers without `audit:read` receive only events about their own resources. */
  readonly isOwnOnly?: true;
  /** Scope that a caller needs to receive events of the owner's other credentials. Absent if no scope is needed. */
  readonly othersNeed?: Scope;
  /** Member of `data` with the name of the signing key. Credentials that are limited to other signing keys do not receive the event. */
  readonly keyMember?: string;
  /** Whether endpoints created by versions that stored no owner receive the event, because those versions sent the event. */
  readonly needsNoOwner?: true;
  /** Whether the delivery log shows the message to everyone who can read webhooks. */
  readonly isShownInLog?: true;
  readonly data: EventMembers;
  /** Audit entries from which the event is derived. Absent for events that EventAnnouncer records. */
  readonly sources?: readonly EventSource[];
}

export function text(description: string, example: string): EventMember {
  return { type: 'string', description, example };
}

export function id(description: string, example = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'): EventMember {
  return { type: 'string', format: 'uuid', description, example };
}

export function moment(description: string, example = '2026-11-20T14:00:00.000Z'): EventMember {
  return { type: 'string', format: 'date-time', description, example };
}

export function count(description: string, example: number): EventMember {
  return { type: 'integer', description, example };
}

export function oneOf(description: string, values: readonly string[], example = values[0]): EventMember {
  return { type: 'string', enum: values, description, example };
}

export function texts(description: string, example: readonly string[]): EventMember {
  return { type: 'array', items: { type: 'string' }, description, example };
}

export function part(description: string, properties: EventMembers): EventMember {
  return { type: 'object', description, properties, example: exampleOf(properties) };
}

export function anyFacts(description: string, example: object): EventMember {
  return { type: 'object', additionalProperties: true, description, example };
}

export function optional(member: EventMember): EventMember {
  return { ...member, isOptional: true };
}

/** exampleOf returns an example of `data`, composed of the examples of all members. */
export function exampleOf(members: EventMembers): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, { example }]) => [name, example]));
}

/** picked returns the named members that are present in a detail. */
export function picked(detail: Readonly<Record<string, unknown>>, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (detail[name] === undefined ? [] : [[name, detail[name]]])));
}
