import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../platform/config/config.js';

const MAX_AGE_SECONDS = 660;

/**
 * Marks the browser in which a sign-in elsewhere began. Lax: it comes along when the browser returns, and not when another site posts.
 * It is no credential: it only shows that the ticket is in the right hands.
 */
@Injectable()
export class BrowserCookie {
  private readonly name: string;
  private readonly attributes: string;

  constructor(config: Config) {
    const https = config.publicUrl.startsWith('https:');
    this.name = https ? '__Host-sealwright-sso' : 'sealwright-sso';
    this.attributes = `Path=/; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`;
  }

  with(value: string): string {
    return `${this.name}=${value}; Max-Age=${MAX_AGE_SECONDS}; ${this.attributes}`;
  }

  gone(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }

  of(request: FastifyRequest): string | undefined {
    return new RegExp(`(?:^|;\\s*)${this.name}=(\\w+)`).exec(request.headers.cookie ?? '')?.[1];
  }
}
