import { useSyncExternalStore } from 'react';

export type ColorScheme = 'light' | 'dark' | 'system';

const STORED = 'sealwright.color-scheme';
const DARK = 'pf-v6-theme-dark';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function chosen(): ColorScheme {
  const stored = localStorage.getItem(STORED);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

function apply(): void {
  const dark = chosen() === 'dark' || (chosen() === 'system' && system.matches);
  document.documentElement.classList.toggle(DARK, dark);
  document.documentElement.style.colorScheme = dark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

/** installColorScheme applies the chosen color scheme, or that of the system. It is called once, before the first paint. */
export function installColorScheme(): void {
  system.addEventListener('change', apply);
  apply();
}

export function chooseColorScheme(scheme: ColorScheme): void {
  localStorage.setItem(STORED, scheme);
  apply();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useColorScheme(): { readonly scheme: ColorScheme; readonly isDark: boolean } {
  const isDark = useSyncExternalStore(subscribe, () => document.documentElement.classList.contains(DARK));
  const scheme = useSyncExternalStore(subscribe, chosen);
  return { scheme, isDark };
}
