import { ApiProperty } from '@nestjs/swagger';
import { Optional, QueryInt, Text } from '../platform/http/fields/fields.js';
import { SCOPE_NAMES, type Scope } from '../access/scopes.js';
import { EVENT_CATALOGUE, EVENT_NAMES, type EventName } from './catalogue/event-catalogue.js';
import { exampleMessage, schemaNameOf } from './event-schemas.js';
import type { EventPage } from './feed/event-feed.service.js';
import type { LoggedEvent } from './feed/logged-event.js';

const EXAMPLE = exampleMessage('signing-request.signed');

export class EventsQuery {
  /**
   * Position after which the page starts: `cursor` of the previous page, the ID of an event, or `latest` for the end of the log. If omitted, the page starts
   * with the oldest event.
   * @example latest
   */
  @Optional(Text(1, 1024)) after?: string;
  /** Events to return, separated by commas: names or areas, as for webhooks. @example signing-request.*,signing-key.rotated */
  @Optional(Text(1, 2000)) types?: string;
  /** Maximum number of events per page. */
  @Optional(QueryInt(1, 200, { default: 50 })) limit?: number;
}

export class EventSubjectView {
  /** Kind of the subject. @example signing-request */
  kind: string;
  /** ID of the subject. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
}

export class EventView {
  /** ID of the event, also contained in messages about the event. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** Type of the event. */
  @ApiProperty({ enum: EVENT_NAMES, example: EXAMPLE.type }) type: EventName;
  /** Time of the event. */
  timestamp: Date;
  /** What the event is about. Events about the same subject are in order. */
  subject: EventSubjectView;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Facts of the event. `GET /api/v1/event-types` describes the members.',
    example: EXAMPLE.data,
  })
  data: Record<string, unknown>;

  static of({ id, type, timestamp, subject: { kind, id: subjectId }, data }: LoggedEvent): EventView {
    return { id, type, timestamp: new Date(timestamp), subject: { kind, id: subjectId }, data };
  }
}

export class EventPageView {
  items: EventView[];
  /** Position after this page, for `after`. Present on every page. @example WyJldmVudHMiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  cursor: string;
  /** Whether to request the next page immediately. A page can be empty although more events follow. @example false */
  more: boolean;

  static of({ items, cursor, more }: EventPage): EventPageView {
    return { items: items.map((event) => EventView.of(event)), cursor, more };
  }
}

export class EventTypeView {
  /** Name of the event type. @example signing-request.signed */
  name: string;
  /** When the event occurs. @example 'A signing request was signed.' */
  description: string;
  /** Permission required to receive the event. */
  @ApiProperty({ enum: SCOPE_NAMES, example: 'sign:read' }) permission: Scope;
  /** Whether callers without `audit:read` receive only events about their own resources. @example true */
  ownOnly: boolean;
  /** Schema of the message in the OpenAPI document. @example '#/components/schemas/SigningRequestSignedEvent' */
  schema: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Example of a message.',
    example: EXAMPLE,
  })
  example: Record<string, unknown>;

  static of(name: EventName): EventTypeView {
    const { description, permission, isOwnOnly = false } = EVENT_CATALOGUE[name];
    const schema = `#/components/schemas/${schemaNameOf(name)}`;
    return { name, description, permission, ownOnly: isOwnOnly, schema, example: { ...exampleMessage(name) } };
  }
}

export class EventTypeList {
  items: EventTypeView[];
}
