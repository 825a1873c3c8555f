import { Body, Controller, Get, HttpCode, Param, Post, Put, Query, Req } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { TakesJson } from '../../platform/http/bodies/json-body.js';
import { Problem } from '../../platform/errors/problem.js';
import { transitOptions } from './transit-order.js';
import {
  TransitExportParam,
  TransitExportVersionParam,
  TransitExportView,
  TransitHashParam,
  TransitKeyData,
  TransitKeyParam,
  TransitKeysView,
  TransitKeyView,
  TransitNewKeyBody,
  TransitSignBody,
  TransitSignData,
  TransitSignView,
  TransitVerifyBody,
  TransitVerifyView,
} from './transit.dto.js';
import { type TransitSigned, TransitService } from './transit.service.js';
import { RefusesAsVault, vaultAnswer } from './vault-system.dto.js';
import { WeakValues } from './weak-values.js';

/** Body limits that are sufficient for a batch of 1,000 hash values. */
const BATCH = { bytes: 512 * 1024, values: 10_000 };
const SIGN_BATCH = { ...BATCH, scope: 'sign:digest' };
const VERIFY_BATCH = { ...BATCH, scope: 'sign:read' };

/** TransitController serves the routes of Vault's transit engine that clients use for signatures. In Vault, both PUT and POST mean "write". */
@ApiTags('Facades')
@RefusesAsVault()
@Controller('v1/transit')
export class TransitController {
  constructor(private readonly transit: TransitService) {}

  /**
   * List Transit keys
   * @remarks Returns the names of the signing keys in Vault's format.
   */
  @Get('keys')
  @Needs('signing-keys:read')
  async listTransitKeys(
    @TheCaller() caller: Caller,
    @Req() { id }: FastifyRequest,
    @Query() _query: object,
  ): Promise<TransitKeysView> {
    return vaultAnswer(id, { keys: await this.transit.names(caller) });
  }

  /**
   * Read a Transit key
   * @remarks Returns the public keys of a signing key in Vault's format.
   */
  @Get('keys/:name')
  @Needs('signing-keys:read')
  async readTransitKey(
    @TheCaller() caller: Caller,
    @Req() { id }: FastifyRequest,
    @Param() { name }: TransitKeyParam,
    @Query() _query: object,
  ): Promise<TransitKeyView> {
    return vaultAnswer(id, TransitKeyData.of(await this.transit.key(caller, name)));
  }

  /**
   * Create a Transit key
   * @remarks Creates a signing key unless a key with this name already exists.
   */
  @Post('keys/:name')
  @HttpCode(200)
  @Needs('signing-keys:write')
  @Fresh()
  @ApiBody({ type: TransitNewKeyBody, required: false })
  postTransitKey(
    @TheCaller() caller: Caller,
    @Param() { name }: TransitKeyParam,
    @Body() body: unknown,
  ): Promise<TransitKeyView> {
    return this.create(caller, name, body);
  }

  /**
   * Create a Transit key (PUT)
   * @remarks Creates a signing key unless a key with this name already exists.
   */
  @Put('keys/:name')
  @Needs('signing-keys:write')
  @Fresh()
  @ApiBody({ type: TransitNewKeyBody, required: false })
  putTransitKey(
    @TheCaller() caller: Caller,
    @Param() { name }: TransitKeyParam,
    @Body() body: unknown,
  ): Promise<TransitKeyView> {
    return this.create(caller, name, body);
  }

  /**
   * Export a Transit public key
   * @remarks Returns the public keys of a signing key in Vault's export format.
   */
  @Get('export/:type/:name')
  @Needs('signing-keys:read')
  async exportTransitKey(
    @TheCaller() caller: Caller,
    @Req() { id }: FastifyRequest,
    @Param() { type, name }: TransitExportParam,
  ): Promise<TransitExportView> {
    return this.exported(caller, id, { type, name });
  }

  /**
   * Export a Transit key version
   * @remarks Returns the public key of one version of a signing key in Vault's export format.
   */
  @Get('export/:type/:name/:version')
  @Needs('signing-keys:read')
  async exportTransitKeyVersion(
    @TheCaller() caller: Caller,
    @Req() { id }: FastifyRequest,
    @Param() { type, name, version }: TransitExportVersionParam,
  ): Promise<TransitExportView> {
    return this.exported(caller, id, { type, name, version });
  }

  /**
   * Sign with Transit
   * @remarks Signs data or hash values through the Vault Transit API.
   */
  @Post('sign/:name')
  @HttpCode(200)
  @Needs('sign:digest')
  @TakesJson(SIGN_BATCH)
  @ApiBody({ type: TransitSignBody })
  postTransitSign(
    @TheCaller() caller: Caller,
    @Param() { name }: TransitKeyParam,
    @Body() body: unknown,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body);
  }

  /**
   * Sign with Transit (PUT)
   * @remarks Signs data or hash values through the Vault Transit API.
   */
  @Put('sign/:name')
  @Needs('sign:digest')
  @TakesJson(SIGN_BATCH)
  @ApiBody({ type: TransitSignBody })
  putTransitSign(
    @TheCaller() caller: Caller,
    @Param() { name }: TransitKeyParam,
    @Body() body: unknown,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body);
  }

  /**
   * Sign with Transit hash path
   * @remarks Signs data or hash values through the Vault Transit API. The path contains the hash algorithm.
   */
  @Post('sign/:name/:hash')
  @HttpCode(200)
  @Needs('sign:digest')
  @TakesJson(SIGN_BATCH)
  @ApiBody({ type: TransitSignBody })
  postTransitSignWithHash(
    @TheCaller() caller: Caller,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: unknown,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body, hash);
  }

  /**
   * Sign with Transit hash path (PUT)
   * @remarks Signs data or hash values through the Vault Transit API. The path contains the hash algorithm.
   */
  @Put('sign/:name/:hash')
  @Needs('sign:digest')
  @TakesJson(SIGN_BATCH)
  @ApiBody({ type: TransitSignBody })
  putTransitSignWithHash(
    @TheCaller() caller: Caller,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: unknown,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body, hash);
  }

  /**
   * Verify with Transit
   * @remarks Verifies signatures through the Vault Transit API.
   */
  @Post('verify/:name')
  @HttpCode(200)
  @Needs('sign:read')
  @TakesJson(VERIFY_BATCH)
  @ApiBody({ type: TransitVerifyBody })
  postTransitVerify(
    @TheCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Param() { name }: TransitKeyParam,
    @Body() body: unknown,
  ): Promise<TransitVerifyView> {
    return this.verify(caller, request, name, body);
  }

  /**
   * Verify with Transit (PUT)
   * @remarks Verifies signatures through the Vault Transit API.
   */
  @Put('verify/:name')
  @Needs('sign:read')
  @TakesJson(VERIFY_BATCH)
  @ApiBody({ type: TransitVerifyBody })
  putTransitVerify(
    @TheCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Param() { name }: TransitKeyParam,
    @Body() body: unknown,
  ): Promise<TransitVerifyView> {
    return this.verify(caller, request, name, body);
  }

  /**
   * Verify with Transit hash path
   * @remarks Verifies signatures through the Vault Transit API. The path contains the hash algorithm.
   */
  @Post('verify/:name/:hash')
  @HttpCode(200)
  @Needs('sign:read')
  @TakesJson(VERIFY_BATCH)
  @ApiBody({ type: TransitVerifyBody })
  postTransitVerifyWithHash(
    @TheCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: unknown,
  ): Promise<TransitVerifyView> {
    return this.verify(caller, request, name, body, hash);
  }

  /**
   * Verify with Transit hash path (PUT)
   * @remarks Verifies signatures through the Vault Transit API. The path contains the hash algorithm.
   */
  @Put('verify/:name/:hash')
  @Needs('sign:read')
  @TakesJson(VERIFY_BATCH)
  @ApiBody({ type: TransitVerifyBody })
  putTransitVerifyWithHash(
    @TheCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: unknown,
  ): Promise<TransitVerifyView> {
    return this.verify(caller, request, name, body, hash);
  }

  /** @param version a version, `latest`, or undefined for all */
  private async exported(
    caller: Caller,
    id: string,
    { type, name, version: wanted }: { type: string; name: string; version?: string },
  ): Promise<TransitExportView> {
    if (type !== 'public-key') throw notExportable();
    const { versions, latest, type: keyType } = await this.transit.key(caller, name);
    const number = wanted === 'latest' ? latest : Number(wanted);
    const shown = versions.filter(({ version }) => wanted === undefined || version === number);
    if (shown.length === 0) throw refusal('/version', 'version does not exist or cannot be found');
    const keys = Object.fromEntries(shown.map(({ version, publicKey }) => [String(version), publicKey]));
    return vaultAnswer(id, { name, type: keyType, keys });
  }

  private async create(caller: Caller, name: string, body: unknown): Promise<TransitKeyView> {
    const made = await this.transit.create(caller, name, WeakValues.of(body));
    return vaultAnswer(caller.origin.requestId, TransitKeyData.of(made));
  }

  private async sign(caller: Caller, name: string, given: unknown, hash?: string): Promise<TransitSignView> {
    const body = WeakValues.of(given);
    const options = transitOptions(body, hash);
    const items = body.list('batch_input');
    const data =
      items === undefined
        ? signData(await this.transit.sign(caller, name, body, options))
        : {
            batch_results: (await this.transit.signAll(caller, name, items, options)).map((one) =>
              'error' in one ? one : signData(one),
            ),
          };
    return vaultAnswer(caller.origin.requestId, data);
  }

  private async verify(
    caller: Caller,
    { id, raw }: FastifyRequest,
    name: string,
    given: unknown,
    hash?: string,
  ): Promise<TransitVerifyView> {
    const body = WeakValues.of(given);
    const options = transitOptions(body, hash);
    const items = body.list('batch_input');
    const isOpen = () => !raw.socket.destroyed;
    const data =
      items === undefined
        ? { valid: await this.transit.verify(caller, name, body, options) }
        : { batch_results: await this.transit.verifyAll(caller, name, items, options, isOpen) };
    return vaultAnswer(id, data);
  }
}

/** Renames the fields to Vault's names. */
const signData = ({ version, ...rest }: TransitSigned): TransitSignData => ({ ...rest, key_version: version });

function notExportable(): Problem {
  return refusal('/type', 'private key material is not exportable');
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'request.invalid', detail, { errors: [{ pointer, detail }] });
}
