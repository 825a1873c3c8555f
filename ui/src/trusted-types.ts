interface TrustedTypes {
  createPolicy(name: string, rules: Record<string, (text: string) => string>): unknown;
}

/**
 * installTrustedTypes satisfies the Trusted Types policy of the page. It allows the empty string, because ECharts empties elements with `innerHTML =
 * ''`, and workers from the console's own files. All other markup and scripts throw.
 */
export function installTrustedTypes(): void {
  const { trustedTypes } = window as { trustedTypes?: TrustedTypes };
  trustedTypes?.createPolicy('default', {
    createHTML: (text) => {
      if (text === '') return '';
      throw new TypeError('markup from text is refused');
    },
    createScriptURL: (text) => {
      const url = new URL(text, location.href);
      if (url.origin === location.origin && (url.pathname.startsWith('/static/') || import.meta.env.DEV)) return text;
      throw new TypeError('scripts come from this service only');
    },
  });
}
