/** Which files a new plugin's folder holds, by language and place. */
import { PYTHON_PLUGIN, PYTHON_TEST } from './python-template.ts';
import { MAIN_MODULE, PLUGIN_MODULE, PLUGIN_TEST, TSCONFIG } from './script-templates.ts';

export const LANGUAGES = ['ts', 'js', 'python'] as const;
export type Language = (typeof LANGUAGES)[number];
/** `external`: a process of its own. `in-process`: loaded into the daemon. */
export type Place = 'external' | 'in-process';

export interface PluginPlan {
  readonly name: string;
  readonly language: Language;
  readonly place: Place;
  /** Version of `zest-bgp` to depend on. */
  readonly version: string;
}

/** What a plugin imports its SDK from. */
const PACKAGE = 'zest-bgp';

/** Texts by path below the folder. */
export function filesOf(plan: PluginPlan): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const put = (path: string, text: string): void => void files.set(path, filled(text, plan));
  put('package.json', packageJson(plan));
  put('README.md', readme(plan));
  put('zest.conf', config(plan));
  if (plan.language === 'python') {
    put('src/plugin.py', PYTHON_PLUGIN);
    put('test/plugin.test.js', PYTHON_TEST);
    return files;
  }
  const { language } = plan;
  put(`src/plugin.${language}`, PLUGIN_MODULE);
  if (plan.place === 'external') put(`src/main.${language}`, MAIN_MODULE);
  put(`test/plugin.test.${language}`, PLUGIN_TEST);
  if (language === 'ts') {
    put('tsconfig.json', TSCONFIG);
    put('.gitignore', 'node_modules/\ndist/\n');
  } else put('.gitignore', 'node_modules/\n');
  return files;
}

function filled(text: string, { name, language, place }: PluginPlan): string {
  const typed = language === 'ts' ? '$1' : '';
  return text
    .replaceAll(/\/\*ts([^]*?)ts\*\//g, typed)
    .replaceAll('@OPTIONS@', place === 'in-process' ? ', { inProcess: true }' : '')
    .replaceAll('@EXT@', language === 'ts' ? '.ts' : '.js')
    .replaceAll('@PACKAGE@', PACKAGE)
    .replaceAll('@NAME@', name);
}

/** What the daemon loads or runs, from the folder. */
function entry({ language, place }: PluginPlan): string {
  const folder = language === 'ts' ? 'dist/src' : 'src';
  if (language === 'python') return 'run "exec python3 ./src/plugin.py"';
  return place === 'external' ? `run "exec node ./${folder}/main.js"` : `use ./${folder}/plugin.js`;
}

function packageJson({ name, language, version }: PluginPlan): string {
  const test = language === 'ts' ? 'tsc && node --test dist/test/plugin.test.js' : 'node --test test/plugin.test.js';
  const dependency = { [PACKAGE]: `^${version}` };
  const value = {
    name: `zest-plugin-${name}`,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    scripts: { ...(language === 'ts' ? { build: 'tsc' } : {}), test },
    // A plugin in Python needs the package for its tests alone.
    ...(language === 'python' ? { devDependencies: dependency } : { dependencies: dependency }),
    ...(language === 'ts' ? { devDependencies: { '@types/node': '^20.19.0', typescript: '^6.0.0' } } : {}),
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

function config(plan: PluginPlan): string {
  return `# A daemon with this plugin and one peer. In a configuration of yours, the plugin block and the process line are what it needs.
plugin {
    external @NAME@ {
        ${entry(plan)}
    }
}
bgp {
    router-id 192.0.2.1
    session { asn { local 65000; } }
    peer edge {
        connection {
            local { ip 127.0.0.1; port 17900; }
            remote { ip 127.0.0.2; connect false; }
        }
        session {
            asn { remote 65001; }
            family { ipv4/unicast { prefix { maximum 1000; } } }
        }
        process @NAME@ { receive [ update state ]; send [ update ]; }
    }
}
`;
}

function readme(plan: PluginPlan): string {
  const { language, place } = plan;
  const build = language === 'ts' ? 'npm run build\n' : '';
  const where =
    place === 'external'
      ? 'It runs as a process of its own; the daemon starts it and it connects back over TLS.'
      : 'It runs inside the daemon, in its main thread: updates arrive as bytes, without JSON. It must not block that thread for long.';
  const source = language === 'python' ? 'src/plugin.py' : `src/plugin.${language}`;
  return `# @NAME@

A plugin for Zest. ${where}

${language === 'python' ? 'The plugin needs Python alone. Its test is JavaScript, over the testing part of the SDK: npm is for that, and for `npx zest`.\n\n' : ''}\`\`\`sh
npm install PATH-TO-A-CHECKOUT-OF-ZEST       # plain npm install once zest-bgp is in your registry
npm test                                     # no daemon needed
${build}npx zest zest.conf                           # the daemon with this plugin, in the foreground
\`\`\`

Beside it, a neighbour to try it with, and the plugin's command:

\`\`\`sh
npx zest lab --connect 127.0.0.1:17900 --local 127.0.0.2 --as 65001 --announce 10
npx zest @NAME@ peers
\`\`\`

| file | |
| --- | --- |
| \`${source}\` | the plugin |
${place === 'external' && language !== 'python' ? `| \`src/main.${language}\` | the process around it |\n` : ''}| \`test/\` | its tests, against an engine in memory |
| \`zest.conf\` | a configuration that runs it |
`;
}
