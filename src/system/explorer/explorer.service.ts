import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Caller } from '../../access/caller.js';
import { Credentials } from '../../auth/callers/credentials.js';
import { Config } from '../../platform/config/config.js';
import { originOf } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import { ApiDocument } from '../../platform/http/api-document.js';
import { ExplorerPass, PASS_SECONDS } from './explorer-pass.js';

const COOKIE = 'sealwright_explorer';
const OWN = ['explorer.html', 'sign-in.html', 'explorer.js', 'sign-in.js', 'pages.css'];
const LIBRARY = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];
const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.html': 'text/html',
};

/** Files and sign-in of the explorer. Its cookie holds a pass and no credential: it opens the explorer's pages and nothing else. */
@Injectable()
export class ExplorerService {
  private readonly pass: ExplorerPass;
  private readonly own = join(import.meta.dirname, 'public');
  private readonly library = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

  constructor(
    private readonly config: Config,
    private readonly credentials: Credentials,
    private readonly document: ApiDocument,
  ) {
    this.pass = new ExplorerPass(config.jwtSecret);
  }

  /** True with a credential in the header, or with a pass in the explorer's cookie. */
  async admits(request: FastifyRequest): Promise<boolean> {
    const { authorization, cookie = '' } = request.headers;
    if (authorization !== undefined) {
      return this.credentials.callerOf(authorization, originOf(request)).then(
        () => true,
        () => false,
      );
    }
    const holder = this.pass.holderOf(/(?:^|;\s*)sealwright_explorer=([\w.-]+)/.exec(cookie)?.[1]);
    return holder !== undefined && (await this.credentials.isValid(holder));
  }

  cookieFor({ id, session }: Caller): string {
    const text = this.pass.for(session === undefined ? { kind: 'api-key', id } : { kind: 'session', id: session.id });
    const secure = this.config.publicUrl.startsWith('https:') ? '; Secure' : '';
    return `${COOKIE}=${text}; Path=/swagger-ui; Max-Age=${PASS_SECONDS}; HttpOnly; SameSite=Strict${secure}`;
  }

  description(): object {
    return this.document.current;
  }

  ownFile(name: string): string {
    return readFileSync(join(this.own, name), 'utf8');
  }

  /** One of the files that the pages load; anything else is not there. */
  async file(name: string): Promise<{ bytes: Buffer; type: string }> {
    const folder = OWN.includes(name) ? this.own : LIBRARY.includes(name) ? this.library : undefined;
    if (folder === undefined) throw new Problem('missing', 'route.missing', 'There is nothing at this address.');
    return { bytes: await readFile(join(folder, name)), type: TYPES[extname(name)] ?? 'application/octet-stream' };
  }

  /** Raw descriptions without a credential are for development. */
  assertDevelopment(): void {
    if (this.config.isProd) throw new Problem('missing', 'route.missing', 'There is nothing at this address.');
  }

  refusal(): Problem {
    return new Problem(
      'unauthenticated',
      'auth.missing',
      'Sign in at /swagger-ui/sign-in.html, or send "Authorization: Bearer …".',
    );
  }
}
