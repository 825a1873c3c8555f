import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Caller } from '../../access/caller.js';
import { Credentials, type Bearer } from '../../auth/credentials/callers/credentials.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import { ApiDocument } from '../../platform/http/server/api-document.js';
import { type DerivedKeys, derivedKeys, isMadeByOneOf } from '../../platform/sealing/derived-keys.js';
import { isId } from '../../platform/database/new-id.js';
import { fromBase64Url } from '../../formats/encoding/base64.js';

/** Maximum lifetime of a pass. */
const PASS_SECONDS = 3600;
const MAC_BYTES = 32;

/**
 * Creates and reads the explorer's cookie: `<kind>.<id>.<end>.<HMAC-SHA-256>`, base64url where necessary. The cookie identifies the session or API key that
 * requested the cookie, and contains no secret. The cookie is valid only for the explorer's pages, and only while the session or key is valid.
 */
class ExplorerPass {
  private readonly keys: DerivedKeys;

  constructor(config: Config) {
    this.keys = derivedKeys(config, 'sealwright explorer pass');
  }

  for({ kind, id }: Bearer): string {
    const text = `${kind}.${id}.${Math.floor(Date.now() / 1000) + PASS_SECONDS}`;
    return `${text}.${createHmac('sha256', this.keys[0]).update(text).digest('base64url')}`;
  }

  /** Returns the holder of a pass; undefined if the pass is invalid or expired. */
  holderOf(pass: string | undefined): Bearer | undefined {
    const [kind, id = '', end = '', mac = '', ...rest] = (pass ?? '').split('.');
    const shown = fromBase64Url(mac);
    if (rest.length > 0 || shown?.length !== MAC_BYTES) return undefined;
    if (!isMadeByOneOf(this.keys, `${kind}.${id}.${end}`, shown)) return undefined;
    if (Number(end) * 1000 <= Date.now() || !isId(id)) return undefined;
    return kind === 'session' || kind === 'api-key' ? { kind, id } : undefined;
  }
}

const COOKIE = 'sealwright_explorer';
const OWN = ['explorer.html', 'sign-in.html', 'explorer.js', 'sign-in.js', 'pages.css'];
const LIBRARY = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];
const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.html': 'text/html',
};

/**
 * Serves the files of the explorer and authenticates its users. The explorer's cookie contains a pass, which grants access only to the explorer's pages and
 * is not a credential.
 */
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
    this.pass = new ExplorerPass(config);
  }

  /** Reports whether the request has a valid credential in the header or, without a header, a valid pass in the explorer's cookie. */
  async admits(request: FastifyRequest): Promise<boolean> {
    const { authorization, cookie = '' } = request.headers;
    if (authorization !== undefined) {
      return this.credentials.callerOfRequest(request).then(
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

  /** Returns one of the files that the pages load; other files are not served. */
  async file(name: string): Promise<{ bytes: Buffer; type: string }> {
    const folder = OWN.includes(name) ? this.own : LIBRARY.includes(name) ? this.library : undefined;
    if (folder === undefined)
      throw new Problem('missing', 'route.missing', 'Path not found. See /swagger-ui/index.html for all operations.');
    return { bytes: await readFile(join(folder, name)), type: TYPES[extname(name)] ?? 'application/octet-stream' };
  }

  /** Throws in profile prod. API descriptions are available without a credential only in development. */
  assertDevelopment(): void {
    if (this.config.isProd)
      throw new Problem('missing', 'route.missing', 'Path not found. See /swagger-ui/index.html for all operations.');
  }

  refusal(): Problem {
    return new Problem(
      'unauthenticated',
      'auth.missing',
      'Authentication required. Sign in at /swagger-ui/sign-in.html, or send "Authorization: Bearer …".',
    );
  }
}
