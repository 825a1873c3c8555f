import { Controller, Get, Header, HttpCode, Param, Post, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public, SignedIn, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { ExplorerService } from './explorer.service.js';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const PAGE = 'text/html; charset=utf-8';

/** The interactive API explorer, for signed-in users. */
@ApiExcludeController()
@Controller()
export class ExplorerController {
  constructor(private readonly explorer: ExplorerService) {}

  @Get('swagger-ui/index.html')
  @Public()
  async page(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (await this.explorer.admits(request)) {
      await reply.header('content-security-policy', POLICY).type(PAGE).send(this.explorer.ownFile('explorer.html'));
      return;
    }
    if (!(request.headers.accept ?? '').includes('text/html')) throw this.explorer.refusal();
    await reply.redirect('/swagger-ui/sign-in.html', 303);
  }

  @Get('swagger-ui/sign-in.html')
  @Public()
  @Header('content-security-policy', POLICY)
  @Header('content-type', PAGE)
  signInPage(): string {
    return this.explorer.ownFile('sign-in.html');
  }

  /** Sets a cookie with a pass for the explorer's pages. The pass is valid only while the caller's credential is valid. */
  @Post('swagger-ui/session')
  @HttpCode(204)
  @SignedIn()
  session(@TheCaller() caller: Caller, @Res({ passthrough: true }) reply: FastifyReply): void {
    void reply.header('set-cookie', this.explorer.cookieFor(caller));
  }

  @Get('swagger-ui/api-docs')
  @Public()
  async descriptionForPage(@Req() request: FastifyRequest): Promise<object> {
    if (await this.explorer.admits(request)) return this.explorer.description();
    throw this.explorer.refusal();
  }

  @Get('swagger-ui/:file')
  @Public()
  async file(@Param('file') name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<StreamableFile> {
    const { bytes, type } = await this.explorer.file(name);
    void reply.header('cache-control', 'public, max-age=3600');
    return new StreamableFile(bytes, { type });
  }

  @Get('swagger-ui.html')
  @Public()
  developmentPage(@Res() reply: FastifyReply): void {
    this.explorer.assertDevelopment();
    void reply.redirect('/swagger-ui/index.html', 302);
  }

  @Get('api-docs')
  @Public()
  developmentDescription(): object {
    this.explorer.assertDevelopment();
    return this.explorer.description();
  }
}
