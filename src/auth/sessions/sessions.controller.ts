import { Controller, Delete, Get, HttpCode, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../platform/http/id-param.js';
import { Person, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { SessionList } from './sessions.dto.js';
import { SessionsService } from './sessions.service.js';

@ApiTags('Authentication')
@Controller('api/auth/sessions')
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  /** Lists your sign-ins, newest first. */
  @Get()
  @Person()
  async listSessions(@TheCaller() caller: Caller): Promise<SessionList> {
    return SessionList.of(await this.sessions.listOf(caller.id), caller.session?.id);
  }

  /** Ends one of your sign-ins. It is refused everywhere within five seconds. */
  @Delete(':id')
  @HttpCode(204)
  @Person()
  async endSession(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.sessions.end(caller, caller.id, id, 'ended');
  }

  /** Ends all your sign-ins but this one. */
  @Delete()
  @HttpCode(204)
  @Person()
  async endOtherSessions(@TheCaller() caller: Caller): Promise<void> {
    await this.sessions.endAllOf(caller, caller.id, 'ended', caller.session?.id);
  }
}
