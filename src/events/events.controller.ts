import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { SignedIn, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { EVENT_NAMES } from './catalogue/event-catalogue.js';
import { EventPageView, EventsQuery, EventTypeList, EventTypeView } from './events.dto.js';
import { EventFeed } from './feed/event-feed.service.js';

@ApiTags('Webhooks')
@Controller('api/v1')
export class EventsController {
  constructor(private readonly feed: EventFeed) {}

  /**
   * List events
   * @remarks Returns the events that you may receive, oldest first, in the order of the audit log. An event appears about a second after it occurred.
   */
  @Get('events')
  @SignedIn()
  async listEvents(@TheCaller() caller: Caller, @Query() { types, ...query }: EventsQuery): Promise<EventPageView> {
    const names = types?.split(',').map((name) => name.trim());
    return EventPageView.of(
      await this.feed.page(caller, { ...query, ...(names === undefined ? {} : { types: names }) }),
    );
  }

  /**
   * List event types
   * @remarks Returns the catalogue of events, with the permission, the schema and an example of each.
   */
  @Get('event-types')
  @SignedIn()
  listEventTypes(): EventTypeList {
    return { items: EVENT_NAMES.map((name) => EventTypeView.of(name)) };
  }
}
