interface TrustedTypes {
  createPolicy(name: string, rules: Record<string, (text: string) => string>): unknown;
}

/**
 * The page's policy demands Trusted Types. ECharts empties elements with `innerHTML = ''`, so the empty text passes;
 * workers come from our own built files only. Everything else that would become markup or script throws.
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
