import { Body, Controller, Get, Header, HttpCode, Param, Post, Query, Res, StreamableFile } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, Public, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { assertId, IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/errors/problem.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { RevocationPush } from './revocation-push.service.js';
import { SshAuthoritiesReader } from './ssh-authorities.reader.js';
import { SshAuthoritiesService } from './ssh-authorities.service.js';
import {
  CreateSshAuthorityBody,
  RetireSshAuthorityBody,
  SshAuthorityPage,
  SshAuthorityView,
} from './ssh-authority.dto.js';
import { IssueSshCertificateBody, SshCertificatePage, SshCertificateView } from './ssh-certificate.dto.js';
import { PushedList, PushRevocationsBody, RevokeSshCertificateBody, SshRevocationPage } from './ssh-revocation.dto.js';
import { SshCertificatesService } from './ssh-certificates.service.js';
import { SshRevocationsService } from './ssh-revocations.service.js';

@ApiTags('SSH authorities')
@Controller('v1/ssh-ca')
export class SshCaController {
  constructor(
    private readonly authorities: SshAuthoritiesService,
    private readonly certificates: SshCertificatesService,
    private readonly reader: SshAuthoritiesReader,
    private readonly revocations: SshRevocationsService,
    private readonly lists: RevocationPush,
  ) {}

  /**
   * Create an SSH authority
   * @remarks Creates a certificate authority. The authority's key is generated in the HSM and cannot be exported.
   */
  @Post()
  @Needs('ssh-ca:write')
  @Fresh()
  async createSshAuthority(
    @TheCaller() caller: Caller,
    @Body() body: CreateSshAuthorityBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SshAuthorityView> {
    const id = await this.authorities.create(caller, body.toOrder(), use);
    return SshAuthorityView.of(await this.reader.get(id));
  }

  /**
   * List SSH authorities
   * @remarks Returns certificate authorities, newest first.
   */
  @Get()
  @Needs('keys:read')
  async listSshAuthorities(@Query() query: PageQuery): Promise<SshAuthorityPage> {
    return SshAuthorityPage.of(await this.reader.list(query));
  }

  /**
   * Get trusted user CA keys
   * @remarks Returns the public keys of all user authorities, in `TrustedUserCAKeys` format.
   */
  @Get('trusted-user-ca-keys')
  @Public()
  @Header('content-type', 'text/plain; charset=utf-8')
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string', example: 'ecdsa-sha2-nistp256 AAAAE2VjZHNh people-2027' } })
  trustedUserCaKeys(): Promise<string> {
    return this.reader.trusted('user');
  }

  /**
   * Get known_hosts lines
   * @remarks Returns the public keys of all host authorities as lines for known_hosts.
   */
  @Get('known-hosts')
  @Public()
  @Header('content-type', 'text/plain; charset=utf-8')
  @ApiProduces('text/plain')
  @ApiOkResponse({
    schema: { type: 'string', example: '@cert-authority * ecdsa-sha2-nistp256 AAAAE2VjZHNh hosts-2027' },
  })
  knownHosts(): Promise<string> {
    return this.reader.trusted('host');
  }

  /**
   * Get revoked user keys
   * @remarks Returns the key revocation list (KRL) of all user authorities, in `RevokedKeys` format.
   */
  @Get('revoked-user-keys')
  @Public()
  @Header('content-type', 'application/octet-stream')
  @ApiProduces('application/octet-stream')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary', example: 'SSHKRL' } })
  async revokedUserKeys(): Promise<StreamableFile> {
    return new StreamableFile(await this.revocations.listOfKind('user'));
  }

  /**
   * Get an SSH authority
   * @remarks Returns a certificate authority.
   */
  @Get(':id')
  @Needs('keys:read')
  async getSshAuthority(@Param() { id }: IdParam): Promise<SshAuthorityView> {
    return SshAuthorityView.of(await this.reader.get(id));
  }

  /**
   * Retire an SSH authority
   * @remarks Retires an authority in two steps, so that another authority can take over without interruption.
   */
  @Post(':id/retire')
  @HttpCode(200)
  @Needs('ssh-ca:write')
  @Fresh()
  async retireSshAuthority(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { state }: RetireSshAuthorityBody,
  ): Promise<SshAuthorityView> {
    await this.authorities.retire(caller, id, state);
    return SshAuthorityView.of(await this.reader.get(id));
  }

  /**
   * List SSH certificates
   * @remarks Returns the certificates that an authority issued, newest first, and whether each certificate is revoked.
   */
  @Get(':id/certificates')
  @Needs('keys:read')
  async listSshCertificates(@Param() { id }: IdParam, @Query() query: PageQuery): Promise<SshCertificatePage> {
    return SshCertificatePage.of(await this.reader.certificates(id, query));
  }

  /**
   * Issue an SSH certificate
   * @remarks Certifies a key. Returns 202 with `status: PENDING_APPROVAL` and `Location` if a policy requires approval.
   */
  @Post(':id/certificates')
  @Needs('ssh-ca:issue')
  @Fresh()
  @ApiAcceptedResponse({ type: SshCertificateView })
  async issueSshCertificate(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: IssueSshCertificateBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SshCertificateView> {
    const certificate = await this.certificates.issue(caller, id, body.toOrder(), use);
    void reply.header('location', `/v1/ssh-ca/${id}/certificates/${certificate.id}`);
    if (certificate.status === 'PENDING_APPROVAL') void reply.status(202);
    return SshCertificateView.of(certificate);
  }

  /**
   * Get an SSH certificate
   * @remarks Returns a requested certificate, including its content once it is signed.
   */
  @Get(':id/certificates/:certificateId')
  @Needs('keys:read')
  async getSshCertificate(
    @Param('id') id: string,
    @Param('certificateId') certificateId: string,
  ): Promise<SshCertificateView> {
    return SshCertificateView.of(await this.certificates.get(assertId(id), assertId(certificateId)));
  }

  /**
   * List SSH revocations
   * @remarks Returns the revocations of an authority, newest first.
   */
  @Get(':id/revocations')
  @Needs('keys:read')
  async listSshRevocations(@Param() { id }: IdParam, @Query() query: PageQuery): Promise<SshRevocationPage> {
    return SshRevocationPage.of(await this.reader.revocations(id, query));
  }

  /**
   * Revoke an SSH certificate
   * @remarks Revokes a certificate or a key. Hosts reject the certificate or key after their revocation list has been updated.
   */
  @Post(':id/revocations')
  @HttpCode(204)
  @Needs('ssh-ca:write')
  @Fresh()
  async revokeSshCertificate(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { kind, value, reason }: RevokeSshCertificateBody,
  ): Promise<void> {
    if (kind === 'serial' && !/^[1-9]\d{0,17}$/.test(value))
      throw new Problem('malformed', 'ssh-ca.serial', '/value: must be a decimal serial number.', {
        errors: [{ pointer: '/value', detail: 'must be a decimal serial number' }],
      });
    await this.revocations.revoke(caller, id, kind, value, reason);
  }

  /**
   * Get a revocation list
   * @remarks Returns the key revocation list (OpenSSH PROTOCOL.krl) of an authority, for the `RevokedKeys` setting of sshd.
   */
  @Get(':id/krl')
  @Public()
  @Header('content-type', 'application/octet-stream')
  @ApiProduces('application/octet-stream')
  @ApiOkResponse({ schema: { type: 'string', format: 'binary', example: 'SSHKRL' } })
  async getSshRevocationList(@Param() { id }: IdParam): Promise<StreamableFile> {
    return new StreamableFile(await this.revocations.list(id));
  }

  /**
   * Push the revocation list
   * @remarks Copies the revocation list to managed hosts, into the `RevokedKeys` file that is configured for sshd. ssh-keygen on the host verifies the list
   * first.
   */
  @Post(':id/krl/push')
  @HttpCode(200)
  @Needs('ssh-ca:write')
  @Fresh()
  async pushSshRevocationList(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { hostIds, path }: PushRevocationsBody,
  ): Promise<PushedList> {
    return { items: await this.lists.push(caller, id, hostIds, path) };
  }
}
