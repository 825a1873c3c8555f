import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs } from '../../../access/access.js';
import { answerEvents } from '../../../platform/http/event-stream.js';
import { IdParam } from '../../../platform/http/id-param.js';
import { RotationView } from './rotation-views.dto.js';
import { RotationWatch } from './rotation-watch.js';

const EVENT_EXAMPLE = 'event: status\nid: RUNNING 0 - PLANNED=20\ndata: {"status":"RUNNING"}\n\n';

@ApiTags('SSH key rotation')
@Controller('v1/rotations')
export class RotationEventsController {
  constructor(private readonly watch: RotationWatch) {}

  /** Tells of a rotation as server-sent events: as it is, then how far its targets are, until it is over. */
  @Get(':id/events')
  @Needs('keys:read')
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    schema: { type: 'string', example: EVENT_EXAMPLE },
    description: 'Events with the rotation as data',
  })
  async followRotation(@Param() { id }: IdParam, @Res() reply: FastifyReply): Promise<void> {
    await answerEvents(reply, this.watch.rows, () => this.watch.follow(id, (shown) => RotationView.of(shown)));
  }
}
