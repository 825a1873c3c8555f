/** A minimal browser for sign-ins that supports cookies per host, manual redirects and forms. */
export class Browser {
  private readonly jars = new Map<string, Map<string, string>>();

  async request(url: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.jarOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie === '' ? {} : { cookie }), ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) this.keep(jar, line);
    return response;
  }

  cookieOf(url: string, name: string): string | undefined {
    return this.jarOf(url).get(name);
  }

  /** Stores a cookie that another client of the same person received. */
  keepCookie(url: string, line: string): void {
    this.keep(this.jarOf(url), line);
  }

  postForm(url: string, values: Record<string, string>): Promise<Response> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.request(url, { method: 'POST', headers, body: new URLSearchParams(values).toString() });
  }

  /** Follows redirects until a response is not a redirect, or until `stop` returns true for the next URL. */
  async follow(
    url: string,
    stop: (url: string) => boolean = () => false,
  ): Promise<{ url: string; response: Response }> {
    let at = url;
    for (let hop = 0; hop < 20; hop += 1) {
      const response = await this.request(at);
      const location = response.headers.get('location');
      if (location === null) return { url: at, response };
      at = new URL(location, at).href;
      if (stop(at)) return { url: at, response };
    }
    throw new Error(`too many redirects: ${at}`);
  }

  private jarOf(url: string): Map<string, string> {
    const { host } = new URL(url);
    const jar = this.jars.get(host) ?? new Map<string, string>();
    this.jars.set(host, jar);
    return jar;
  }

  private keep(jar: Map<string, string>, line: string): void {
    const [pair = '', ...attributes] = line.split(';');
    const [name = '', ...value] = pair.split('=');
    const isGone = attributes.some((attribute) => /^\s*(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute));
    if (isGone || value.join('=') === '') jar.delete(name);
    else jar.set(name, value.join('='));
  }
}
