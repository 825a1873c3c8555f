import { Body, Controller, Delete, Get, Header, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags, ApiExcludeController } from '@nestjs/swagger';
import { IdParam } from '../../../platform/http/id-param.js';
import { Fresh, Needs, TheCaller, Public } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { SecondFactorsService } from '../second-factors/second-factors.service.js';
import { SessionList } from '../../credentials/sessions/sessions.dto.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { PasswordResetsService } from './password-resets.service.js';
import { UserAdministrationService, assertMayGrant } from './user-administration.service.js';
import { ChangeUserBody, UserPage, UsersQuery, UserView } from './users.dto.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

@ApiTags('Users')
@Controller('api/settings/users')
export class UsersController {
  constructor(
    private readonly users: UserAdministrationService,
    private readonly sessions: SessionsService,
    private readonly resets: PasswordResetsService,
    private readonly factors: SecondFactorsService,
  ) {}

  /**
   * List users
   * @remarks Returns users, newest first.
   */
  @Get()
  @Needs('users:read')
  async listUsers(@Query() query: UsersQuery): Promise<UserPage> {
    return UserPage.of(await this.users.list(query));
  }

  /**
   * Get a user
   * @remarks Returns a user with the user's roles and status.
   */
  @Get(':id')
  @Needs('users:read')
  async getUser(@Param() { id }: IdParam): Promise<UserView> {
    return UserView.of(await this.users.read(id));
  }

  /**
   * Update a user
   * @remarks Sets the roles of a user, or disables or enables the user. At least one administrator must remain.
   */
  @Patch(':id')
  @Needs('users:write')
  @Fresh()
  async changeUser(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeUserBody,
  ): Promise<UserView> {
    await this.users.change(caller, id, body.toChange());
    return UserView.of(await this.users.read(id));
  }

  /**
   * List a user's sessions
   * @remarks Returns the active sessions of a user.
   */
  @Get(':id/sessions')
  @Needs('users:read')
  async listUserSessions(@Param() { id }: IdParam): Promise<SessionList> {
    return SessionList.of(await this.sessions.listOf((await this.users.read(id)).id));
  }

  /**
   * End a user's sessions
   * @remarks Ends all sessions of a user in every process.
   */
  @Delete(':id/sessions')
  @HttpCode(204)
  @Needs('users:write')
  async endUserSessions(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    const user = await this.users.readGenuine(id);
    assertMayGrant(caller, user.roles);
    await this.sessions.endAllOf(caller, id, 'ended-by-administrator');
  }

  /**
   * Reset second factors
   * @remarks Removes all authenticator apps, passkeys and recovery codes of a user who has lost them.
   */
  @Delete(':id/second-factors')
  @HttpCode(204)
  @Needs('users:write')
  @Fresh()
  async resetSecondFactors(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    const user = await this.users.readGenuine(id);
    assertMayGrant(caller, user.roles);
    await this.factors.reset(caller, user);
  }

  /**
   * Send a password reset link
   * @remarks Sends a link to set a new password to the user's address. The response does not contain the link.
   */
  @Post(':id/password-reset')
  @HttpCode(202)
  @Needs('users:write')
  @Fresh()
  async sendPasswordReset(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    const user = await this.users.readGenuine(id);
    assertMayGrant(caller, user.roles);
    await this.resets.send({ kind: caller.kind, id: caller.id, name: caller.name }, user, caller.origin);
  }
}

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const page = (name: string) => readFileSync(join(import.meta.dirname, 'public', name), 'utf8');

/**
 * AccountController serves the page to which links in emails point. The secret is in the fragment of the link, so the secret does not appear in logs or Referer
 * headers.
 */
@ApiExcludeController()
@Controller('account')
export class AccountController {
  @Get()
  @Public()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', POLICY)
  page(): string {
    return page('account.html');
  }

  @Get('account.js')
  @Public()
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(): string {
    return page('account.js');
  }
}
