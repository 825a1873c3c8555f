import type { FastifyRequest } from 'fastify';

export interface HostCookieOptions {
  readonly name: string;
  /** Strict: not sent with anything that another site begins. Lax: sent when another site leads the browser here. */
  readonly sameSite: 'Strict' | 'Lax';
  readonly maxAgeSeconds: number;
}

/** A cookie for this host alone, out of the reach of scripts. Over https its name makes browsers insist on that (`__Host-`, RFC 6265bis). */
export class HostCookie {
  private readonly name: string;
  private readonly attributes: string;
  private readonly maxAgeSeconds: number;

  constructor(publicUrl: string, { name, sameSite, maxAgeSeconds }: HostCookieOptions) {
    const https = publicUrl.startsWith('https:');
    this.name = https ? `__Host-${name}` : name;
    this.attributes = `Path=/; HttpOnly; SameSite=${sameSite}${https ? '; Secure' : ''}`;
    this.maxAgeSeconds = maxAgeSeconds;
  }

  /** Text of a Set-Cookie header. */
  with(value: string): string {
    return `${this.name}=${value}; Max-Age=${this.maxAgeSeconds}; ${this.attributes}`;
  }

  gone(): string {
    return `${this.name}=; Max-Age=0; ${this.attributes}`;
  }

  of(request: Pick<FastifyRequest, 'headers'>): string | undefined {
    return new RegExp(`(?:^|;\\s*)${this.name}=([\\w.-]+)`).exec(request.headers.cookie ?? '')?.[1];
  }
}
