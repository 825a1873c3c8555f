import type { overview as english } from '../en/overview.js';

export const overview: Record<keyof typeof english, string> = {
  'dashboard.lead': 'Was hier signiert wird, was Sie betreiben und was sich ändern muss.',
  'dashboard.recent': 'Neueste Signaturaufträge',

  'figure.assets': 'Kryptografische Objekte',
  'figure.assets.hint': 'im Inventar',
  'figure.expired': 'Abgelaufen',
  'figure.expired.hint': 'Zertifikate und Schlüssel nach ihrem Ende',
  'figure.ready': 'Quantensicher',
  'figure.ready.hint': 'von dem, was ein Quantenrechner betrifft',
  'figure.urgent': 'Hoch oder kritisch',
  'figure.urgent.hint': 'zuerst anzusehen',

  'firstSteps.done': 'erledigt',
  'firstSteps.hide': 'Anleitung ausblenden',
  'firstSteps.inventory': 'Bringen Sie ein, was Sie betreiben',
  'firstSteps.inventory.why': 'Ein CycloneDX-Dokument oder ein Scan zeigt, von welcher Kryptografie Sie abhängen.',
  'firstSteps.key': 'Signaturschlüssel erzeugen',
  'firstSteps.key.why': 'Er entsteht im HSM und verlässt es nie.',
  'firstSteps.open': 'offen',
  'firstSteps.sign': 'Erste Datei signieren',
  'firstSteps.sign.why': 'Ihr Hashwert wird in diesem Browser berechnet; nur er wird gesendet.',
  'firstSteps.title': 'Erste Schritte',

  'plot.deadlines': 'Fristen: was noch umzustellen ist',
  'plot.deadlines.date': 'Letzter Tag',
  'plot.deadlines.due': 'An diesem Tag fällig',
  'plot.deadlines.left': 'Noch vor ihrer Frist',
  'plot.expiry': 'Was in den nächsten zwölf Monaten abläuft',
  'plot.families': 'Algorithmenfamilien nach Risiko',
  'plot.latency': 'Dauer der letzten 200 Signaturen',
  'plot.latency.share': '{percent} % binnen',
  'plot.levels': 'Risiko aller Objekte',
  'plot.overTime': 'Risiko im Lauf der Zeit',
  'plot.overTime.day': 'Tag',
  'plot.sizes': 'Familie nach Schlüssellänge',
};
