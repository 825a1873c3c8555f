import { Body, Controller, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import {
  TransitHashParam,
  TransitKeyParam,
  TransitKeyView,
  TransitSignBody,
  TransitSignView,
  TransitVerifyBody,
  TransitVerifyView,
} from './transit.dto.js';
import { TransitService } from './transit.service.js';

/** The routes of Vault's transit engine that its clients call for signatures. Both PUT and POST mean "write" there. */
@ApiTags('Facades')
@Controller('v1/transit')
export class TransitController {
  constructor(private readonly transit: TransitService) {}

  /** Shows the public keys of a signing key, as Vault does. */
  @Get('keys/:name')
  @Needs('signing-keys:read')
  async readTransitKey(@Param() { name }: TransitKeyParam): Promise<TransitKeyView> {
    return TransitKeyView.of(await this.transit.key(name));
  }

  /** Signs as Vault does. */
  @Post('sign/:name')
  @HttpCode(200)
  @Needs('sign:digest')
  postTransitSign(
    @TheCaller() caller: Caller,
    @Param() { name }: TransitKeyParam,
    @Body() body: TransitSignBody,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body);
  }

  /** Signs as Vault does. */
  @Put('sign/:name')
  @Needs('sign:digest')
  putTransitSign(
    @TheCaller() caller: Caller,
    @Param() { name }: TransitKeyParam,
    @Body() body: TransitSignBody,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body);
  }

  /** Signs as Vault does, the hash algorithm in the address. */
  @Post('sign/:name/:hash')
  @HttpCode(200)
  @Needs('sign:digest')
  postTransitSignWithHash(
    @TheCaller() caller: Caller,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: TransitSignBody,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body, hash);
  }

  /** Signs as Vault does, the hash algorithm in the address. */
  @Put('sign/:name/:hash')
  @Needs('sign:digest')
  putTransitSignWithHash(
    @TheCaller() caller: Caller,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: TransitSignBody,
  ): Promise<TransitSignView> {
    return this.sign(caller, name, body, hash);
  }

  /** Verifies as Vault does. */
  @Post('verify/:name/:hash')
  @HttpCode(200)
  @Needs('sign:read')
  postTransitVerify(
    @TheCaller() caller: Caller,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: TransitVerifyBody,
  ): Promise<TransitVerifyView> {
    return this.verify(caller, name, body, hash);
  }

  /** Verifies as Vault does. */
  @Put('verify/:name/:hash')
  @Needs('sign:read')
  putTransitVerify(
    @TheCaller() caller: Caller,
    @Param() { name, hash }: TransitHashParam,
    @Body() body: TransitVerifyBody,
  ): Promise<TransitVerifyView> {
    return this.verify(caller, name, body, hash);
  }

  private async sign(caller: Caller, name: string, body: TransitSignBody, hash?: string): Promise<TransitSignView> {
    const { signature, version } = await this.transit.sign(caller, name, body.toOrder(hash));
    return { data: { signature, key_version: version } };
  }

  private async verify(
    caller: Caller,
    name: string,
    body: TransitVerifyBody,
    hash: string,
  ): Promise<TransitVerifyView> {
    return { data: { valid: await this.transit.verify(caller, name, body.toOrder(hash), body.signature) } };
  }
}
