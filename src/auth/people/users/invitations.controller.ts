import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../../platform/http/id-param.js';
import { PageQuery } from '../../../platform/http/page.js';
import type { IdempotentUse } from '../../../platform/http/idempotency-keys.js';
import { Fresh, Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Repeatable } from '../../../access/repeatable.js';
import { InvitationsReader } from './invitations.reader.js';
import { InvitationsService } from './invitations.service.js';
import { InvitationPage, InviteBody, NewInvitationView } from './users.dto.js';

@ApiTags('Users')
@Controller('api/settings/invitations')
export class InvitationsController {
  constructor(
    private readonly invitations: InvitationsService,
    private readonly reader: InvitationsReader,
  ) {}

  /**
   * Invite a user
   * @remarks Sends an invitation to an email address. The link can be used once within seven days, provided that you can still grant the roles.
   */
  @Post()
  @Needs('users:write')
  @Fresh()
  async inviteUser(
    @TheCaller() caller: Caller,
    @Body() { email, roles }: InviteBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<NewInvitationView> {
    const { row, link } = await this.invitations.invite(caller, { email, roles }, use);
    return NewInvitationView.withLink(row, link);
  }

  /**
   * List invitations
   * @remarks Returns the invitations that can still be accepted, newest first.
   */
  @Get()
  @Needs('users:read')
  async listInvitations(@Query() query: PageQuery): Promise<InvitationPage> {
    return InvitationPage.of(await this.reader.listOpen(query));
  }

  /**
   * Revoke an invitation
   * @remarks Revokes an invitation. The link becomes invalid.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('users:write')
  async revokeInvitation(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.invitations.revoke(caller, id);
  }
}
