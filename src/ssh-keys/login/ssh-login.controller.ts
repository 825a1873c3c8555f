import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query, Res, UseInterceptors } from '@nestjs/common';
import { ApiAcceptedResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { SshCertificateView } from '../certificate-authority/ssh-certificate.dto.js';
import { TriedCallerBody, TriedRulesView } from './ssh-login-trial.dto.js';
import { SshLoginBody, SshLoginRuleBody, SshLoginRulePage, SshLoginRuleView } from './ssh-login.dto.js';
import { SshLoginRulesService } from './ssh-login-rules.service.js';
import { SshLoginService } from './ssh-login.service.js';

@ApiTags('SSH authorities')
@Controller('v1/ssh-login')
export class SshLoginController {
  constructor(private readonly logins: SshLoginService) {}

  /**
   * Request an SSH login certificate
   * @remarks Issues a certificate for your key according to the rule that matches you. Returns 202 with `status: PENDING_APPROVAL` if a policy requires
   * approval.
   */
  @Post()
  @Needs('ssh-ca:login')
  @ApiAcceptedResponse({ type: SshCertificateView })
  async loginBySsh(
    @TheCaller() caller: Caller,
    @Body() { publicKey, rule, kind = 'user' }: SshLoginBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SshCertificateView> {
    const certificate = await this.logins.login(caller, { publicKey, kind, rule }, use);
    void reply.header('location', `/v1/ssh-login/${certificate.id}`);
    if (certificate.status === 'PENDING_APPROVAL') void reply.status(202);
    return SshCertificateView.of(certificate);
  }

  /**
   * Get an SSH login certificate
   * @remarks Returns a certificate that you requested.
   */
  @Get(':id')
  @Needs('ssh-ca:login')
  async getSshLogin(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<SshCertificateView> {
    return SshCertificateView.of(await this.logins.find(caller, id));
  }
}

@ApiTags('SSH authorities')
@UseInterceptors(VersionInterceptor)
@Controller('v1/ssh-login-rules')
export class SshLoginRulesController {
  constructor(private readonly rules: SshLoginRulesService) {}

  /**
   * Create an SSH login rule
   * @remarks Defines who can get certificates from an authority, and the content of the certificates. Requires the right to issue certificates.
   */
  @Post()
  @Needs('ssh-ca:write', 'ssh-ca:issue')
  @Fresh()
  async createSshLoginRule(
    @TheCaller() caller: Caller,
    @Body() body: SshLoginRuleBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SshLoginRuleView> {
    return SshLoginRuleView.of(await this.rules.create(caller, body.toOrder(), use));
  }

  /**
   * Test SSH login rules
   * @remarks Returns the rules that would issue a certificate to a caller with these claims, and the reasons why the other rules would not.
   */
  @Post('try')
  @HttpCode(200)
  @Needs('keys:read')
  async trySshLoginRules(@Body() { subject, claims }: TriedCallerBody): Promise<TriedRulesView> {
    return TriedRulesView.of(await this.rules.try(subject, claims));
  }

  /**
   * List SSH login rules
   * @remarks Returns login rules, newest first.
   */
  @Get()
  @Needs('keys:read')
  async listSshLoginRules(@Query() query: PageQuery): Promise<SshLoginRulePage> {
    return SshLoginRulePage.of(await this.rules.list(query));
  }

  /**
   * Get an SSH login rule
   * @remarks Returns an SSH login rule with its ETag.
   */
  @Get(':id')
  @Needs('keys:read')
  async getSshLoginRule(@Param() { id }: IdParam): Promise<SshLoginRuleView> {
    return SshLoginRuleView.of(await this.rules.read(id));
  }

  /**
   * Replace an SSH login rule
   * @remarks Replaces a login rule. Certificates that the rule issued remain valid until they expire.
   */
  @Put(':id')
  @Needs('ssh-ca:write', 'ssh-ca:issue')
  @Fresh()
  async changeSshLoginRule(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: SshLoginRuleBody,
    @ExpectedVersion() version: number,
  ): Promise<SshLoginRuleView> {
    return SshLoginRuleView.of(await this.rules.change(caller, id, version, body.toOrder()));
  }

  /**
   * Delete an SSH login rule
   * @remarks Deletes a login rule. Certificates that the rule issued remain valid until they expire.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('ssh-ca:write')
  @Fresh()
  async removeSshLoginRule(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.rules.remove(caller, id);
  }
}
