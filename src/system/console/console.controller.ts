import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/access.js';
import { Problem } from '../../platform/errors/problem.js';
import { isKnown } from '../../platform/http/versions.js';
import { codingFor, type ConsoleFile, ConsoleFiles } from './console-files.js';

/** First path segments of the console's pages. All other paths belong to the API, which rejects unknown paths. */
const SECTIONS = [
  'alerts',
  'approvals',
  'assets',
  'attestations',
  'audit',
  'certificates',
  'conflicts',
  'deadlines',
  'documents',
  'health',
  'host-authorities',
  'hosts',
  'imports',
  'jurisdictions',
  'keys',
  'names',
  'policies',
  'policy-packs',
  'profile',
  'requests',
  'rotation-policies',
  'rotations',
  'rules',
  'scan-scopes',
  'scans',
  'schedules',
  'sensors',
  'settings',
  'sign',
  'ssh-authorities',
  'ssh-keys',
  'ssh-login-rules',
  'verify',
];

/** Routes of the pages: the dashboard, each section, and all paths below it. */
export const CONSOLE_PAGES = ['', ...SECTIONS.flatMap((section) => [section, `${section}/*`])];

/**
 * Content-Security-Policy. It allows no inline scripts, no inline style elements and no resources from other sites. Scripts come only from the service's own
 * files, and no text is parsed as markup (Trusted Types; the console's default policy permits only the empty string, which the charts need). Style attributes
 * are allowed because the SVG of the charts uses them.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
  'trusted-types default',
].join('; ');

/** File names contain a hash of the content, so a changed file has a new name. */
const FOR_A_YEAR = 'public, max-age=31536000, immutable';

/** Serves the web console, which uses only the public API. */
@ApiExcludeController()
@Controller()
export class ConsoleController {
  constructor(private readonly files: ConsoleFiles) {}

  /** Every page is the same document; the console derives its content from the URL. */
  @Get(CONSOLE_PAGES)
  @Public()
  async page(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() _state: Record<string, string>,
  ): Promise<void> {
    const file = this.files.find('index.html');
    if (file === undefined) {
      await reply.redirect('/swagger-ui/index.html', 302);
      return;
    }
    void reply
      .header('content-security-policy', POLICY)
      .header('permissions-policy', 'camera=(), geolocation=(), microphone=()');
    await send(request, reply, file, 'no-cache');
  }

  @Get(['static/*', 'favicon.svg'])
  @Public()
  async file(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const path = request.url.split('?')[0]?.slice(1) ?? '';
    const file = this.files.find(path);
    if (file === undefined)
      throw new Problem('missing', 'route.missing', 'Path not found. See /swagger-ui/index.html for all operations.');
    await send(request, reply, file, path.startsWith('static/') ? FOR_A_YEAR : 'public, max-age=86400');
  }
}

async function send(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile, caching: string): Promise<void> {
  const coding = codingFor(request.headers['accept-encoding'], file);
  // Each coding is a separate representation with its own validator (RFC 9110 section 8.8.3.3).
  const tag = coding === 'identity' ? file.tag : file.tag.replace(/"$/, `-${coding}"`);
  void reply.headers({ 'cache-control': caching, etag: tag, vary: 'Accept-Encoding' });
  if (isKnown(request.headers['if-none-match'], tag)) {
    await reply.status(304).send();
    return;
  }
  if (coding !== 'identity') void reply.header('content-encoding', coding);
  await reply.type(file.type).send(file.bytes.get(coding));
}
