/** The configuration room: text to running config, faults, print, difference. */
export { type ConfigFault, type ConfigWarning, Findings, type Place } from './fault.ts';
export { configSchema, loadConfig, type LoadOptions, type LoadResult, loadTree } from './load.ts';
export { type DaemonEnvironment, type ProcessBindings, RunningConfig } from './running.ts';
export type { HubClient, HubServer, Overflow, PluginSettings } from './plugin-settings.ts';
export { type ChangeClass, type ChangedPeer, type ConfigDiff, diffConfigs } from './diff.ts';
export { parseConfig } from './parser.ts';
export { type PrintOptions, printConfig } from './print.ts';
export { type ConfigStatement, shapeOf, type SyntaxTree } from './syntax-tree.ts';
export { type Setting, type SettingSource, Settings, SETTINGS, type SettingSpec } from './settings.ts';
export { makeValidators, parseDuration, parseLogLevel } from './validators.ts';
export { faultText, type ReportOptions, unreadableReport, type ValidateReport, validateReport } from './validate-report.ts';
