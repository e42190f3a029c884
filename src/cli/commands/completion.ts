import { Argument, type Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

type Shell = (typeof SHELLS)[number]

export function register(program: Command, cli: Cli): void {
  program
    .command('completion')
    .description('print a script that lets your shell complete commands and options')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText(
      'after',
      examples([
        ['source <(pawl completion bash)', 'bash: now; put the line into ~/.bashrc to have it always'],
        ['source <(pawl completion zsh)', 'zsh: the same, in ~/.zshrc after compinit'],
        ['pawl completion fish > ~/.config/fish/completions/pawl.fish', 'fish'],
      ]),
    )
    .action(async (shell: Shell) => cli.stdout.write(await scriptFor(shell, program)))
}

async function scriptFor(shell: Shell, program: Command): Promise<string> {
  const { commandTree } = await import('../completion/command-tree.ts')
  const commands = commandTree(program)
  switch (shell) {
    case 'bash': {
      const { bashCompletion } = await import('../completion/bash.ts')
      return bashCompletion(commands)
    }
    case 'zsh': {
      const { zshCompletion } = await import('../completion/zsh.ts')
      return zshCompletion(commands)
    }
    case 'fish': {
      const { fishCompletion } = await import('../completion/fish.ts')
      return fishCompletion(commands)
    }
  }
}
