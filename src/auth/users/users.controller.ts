import { Body, Controller, Delete, Get, Header, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { SecondFactorsService } from '../second-factors/second-factors.service.js';
import { SessionList } from '../sessions/sessions.dto.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { PasswordResetsService } from './password-resets.service.js';
import { UserAdministrationService } from './user-administration.service.js';
import { assertMayGrant } from './user-rules.js';
import { ChangeUserBody, UserPage, UserView } from './users.dto.js';

@ApiTags('Users')
@Controller('api/settings/users')
export class UsersController {
  constructor(
    private readonly users: UserAdministrationService,
    private readonly sessions: SessionsService,
    private readonly resets: PasswordResetsService,
    private readonly factors: SecondFactorsService,
  ) {}

  /** Lists users, newest first. */
  @Get()
  @Needs('users:read')
  async listUsers(@Query() query: PageQuery): Promise<UserPage> {
    return UserPage.of(await this.users.list(query));
  }

  /** Shows a user. */
  @Get(':id')
  @Needs('users:read')
  async getUser(@Param() { id }: IdParam): Promise<UserView> {
    return UserView.of(await this.users.read(id));
  }

  /** Sets a user's roles, or disables them. The last administrator stays. */
  @Patch(':id')
  @Needs('users:write')
  @Fresh()
  async changeUser(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeUserBody,
  ): Promise<UserView> {
    return UserView.of(await this.users.change(caller, id, body.toChange()));
  }

  /** Lists a user's sign-ins that still count. */
  @Get(':id/sessions')
  @Needs('users:read')
  async listUserSessions(@Param() { id }: IdParam): Promise<SessionList> {
    return SessionList.of(await this.sessions.listOf((await this.users.read(id)).id));
  }

  /** Signs a user out everywhere. */
  @Delete(':id/sessions')
  @HttpCode(204)
  @Needs('users:write')
  async endUserSessions(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    const user = await this.users.read(id);
    assertMayGrant(caller, user.roles);
    await this.sessions.endAllOf(caller, id, 'ended-by-administrator');
  }

  /** Takes a user's authenticator apps and recovery codes away, for when they are lost. */
  @Delete(':id/second-factors')
  @HttpCode(204)
  @Needs('users:write')
  @Fresh()
  async resetSecondFactors(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    const user = await this.users.read(id);
    assertMayGrant(caller, user.roles);
    await this.factors.reset(caller, user);
  }

  /** Sends a user a link to set a new password. Nobody else gets to see it. */
  @Post(':id/password-reset')
  @HttpCode(202)
  @Header('cache-control', 'no-store')
  @Needs('users:write')
  @Fresh()
  async sendPasswordReset(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    const user = await this.users.read(id);
    assertMayGrant(caller, user.roles);
    await this.resets.send({ kind: caller.kind, id: caller.id, name: caller.name }, user, caller.origin);
  }
}
