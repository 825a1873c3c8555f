import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import { type Catalogue, en, type MessageKey } from './en.js';

export type { MessageKey };
export type Language = 'en' | 'de';
type Values = Readonly<Record<string, string | number>>;

export const LANGUAGES: readonly { id: Language; name: string }[] = [
  { id: 'en', name: 'English' },
  { id: 'de', name: 'Deutsch' },
];

interface I18n {
  readonly language: Language;
  readonly setLanguage: (language: Language) => void;
  /** Returns the message with its placeholders replaced. If `count` is 1, the `.one` form is used if it exists. */
  readonly t: (key: MessageKey, values?: Values) => string;
  /** Returns a message whose key is built at run time, such as the name of a status, or the fallback. */
  readonly named: (prefix: string, value: string, fallback?: string) => string;
}

const Context = createContext<I18n | undefined>(undefined);
const STORED = 'sealwright.language';

function firstLanguage(): Language {
  const stored = localStorage.getItem(STORED) ?? navigator.language.slice(0, 2);
  return stored === 'de' ? 'de' : 'en';
}

function fill(text: string, values: Values, language: Language): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? value.toLocaleString(language) : value;
  });
}

/** I18nProvider provides the messages. English is built in; other languages are loaded on demand. */
export function I18nProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage);
  const [catalogue, setCatalogue] = useState<Catalogue | undefined>(language === 'en' ? en : undefined);

  useEffect(() => {
    document.documentElement.lang = language;
    if (language === 'en') setCatalogue(en);
    else void import('./de.js').then(({ de }) => setCatalogue(de));
  }, [language]);

  const choose = useCallback((chosen: Language) => {
    localStorage.setItem(STORED, chosen);
    setLanguage(chosen);
  }, []);

  const value = useMemo<I18n | undefined>(() => {
    if (catalogue === undefined) return undefined;
    const t = (key: MessageKey, values: Values = {}) => {
      const one = `${key}.one` as MessageKey;
      return fill(values['count'] === 1 && one in catalogue ? catalogue[one] : catalogue[key], values, language);
    };
    const named = (prefix: string, name: string, fallback = name) =>
      (catalogue as Readonly<Record<string, string>>)[`${prefix}.${name}`] ?? fallback;
    return { language, setLanguage: choose, t, named };
  }, [catalogue, language, choose]);

  return value === undefined ? null : <Context value={value}>{children}</Context>;
}

export function useI18n(): I18n {
  const value = use(Context);
  if (value === undefined) throw new Error('I18nProvider is missing above this component');
  return value;
}
